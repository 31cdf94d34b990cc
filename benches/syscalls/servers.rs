//! The servers in Debian's versions: how to start each in a folder, and its asynchronous calls.

use crate::mariadb;
use crate::patched::Outcome;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Calls of socket servers; calls that a server does not make cost nothing.
const OF_SOCKETS: &str = "read,readv,recv,recvfrom,recvmsg,write,writev,send,sendto,sendmsg";

/// A server.
pub struct Server {
    pub name: &'static str,
    pub program: &'static str,
    pub package: &'static str,
    /// Largest gain in throughput by Soares's systems, in percent: by batches on one core, and on
    /// two.
    pub text: Option<[f64; 2]>,
    /// Requests of one load on one connection; more connections have four times as many.
    pub requests: usize,
    /// Calls on files, in addition to sockets' calls; they run on another core.
    pub files: &'static str,
    /// Calls that wait; they use the rings.
    pub waits: &'static str,
    start: fn(&Path, u16) -> Outcome<Vec<String>>,
}

impl Server {
    /// Writes its input files into the folder. Returns how to start it there.
    pub fn lay_out(&self, folder: &Path, port: u16) -> Outcome<Vec<String>> {
        let mut words = vec![self.program.to_owned()];
        words.extend((self.start)(folder, port)?);
        Ok(words)
    }

    /// Returns its asynchronous calls, in the syntax of `--system-calls`.
    pub fn calls(&self, way: &str) -> String {
        let more = if way.starts_with("batch") {
            self.waits
        } else {
            self.files
        };
        match more {
            "" => format!("{OF_SOCKETS}@{way}"),
            more => format!("{OF_SOCKETS},{more}@{way}"),
        }
    }
}

/// All servers.
pub const SERVERS: [Server; 6] = [
    Server {
        name: "apache2",
        program: "/usr/sbin/apache2",
        package: "apache2-bin",
        text: Some([86.0, 116.0]),
        requests: 2_500,
        files: "open,close,stat,fstat,accept4,sendfile",
        waits: "poll,epoll_wait",
        start: apache,
    },
    Server {
        name: "nginx",
        program: "/usr/sbin/nginx",
        package: "nginx-light",
        text: Some([70.0, 120.0]),
        requests: 6_000,
        files: "open,openat,close,fstat,fstatat,pread,accept4,sendfile",
        waits: "epoll_wait",
        start: nginx,
    },
    Server {
        name: "memcached",
        program: "/usr/bin/memcached",
        package: "memcached",
        text: Some([25.0, 35.0]),
        requests: 10_000,
        files: "",
        waits: "epoll_wait",
        start: memcached,
    },
    Server {
        name: "redis",
        program: "/usr/bin/redis-server",
        package: "redis-server",
        text: None,
        requests: 10_000,
        files: "",
        waits: "epoll_wait",
        start: redis,
    },
    Server {
        name: "mariadbd",
        program: "/usr/sbin/mariadbd",
        package: "mariadb-server-core",
        text: Some([14.0, 40.0]),
        requests: 4_000,
        files: "",
        waits: "poll",
        start: mariadbd,
    },
    Server {
        name: "bind9",
        program: "/usr/sbin/named",
        package: "bind9",
        text: Some([22.0, 31.0]),
        requests: 6_000,
        files: "",
        waits: "epoll_wait",
        start: bind,
    },
];

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|&word| word.to_owned()).collect()
}

fn page(folder: &Path) -> Outcome<()> {
    std::fs::create_dir(folder.join("files"))?;
    let file = [&b"x".repeat(1000)[..], b"the end\n"].concat();
    Ok(std::fs::write(folder.join("files/page.txt"), file)?)
}

/// A thread per connection: with many of them, batches are larger.
fn apache(folder: &Path, port: u16) -> Outcome<Vec<String>> {
    page(folder)?;
    let at = folder.display();
    let mut text = String::new();
    for module in ["mpm_worker", "authz_core", "mime"] {
        let file = format!("/usr/lib/apache2/modules/mod_{module}.so");
        text += &format!("LoadModule {module}_module {file}\n");
    }
    if rustix::process::geteuid().is_root() {
        // It does not serve as root.
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755))?;
        text += "User www-data\nGroup www-data\n";
    }
    text += &format!(
        "ServerRoot {at}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {at}/pid\n\
         ErrorLog {at}/errors\nTypesConfig /etc/mime.types\nDocumentRoot {at}/files\n\
         StartServers 1\nServerLimit 1\nThreadsPerChild 300\nThreadLimit 300\n\
         MaxRequestWorkers 300\nMinSpareThreads 1\nMaxSpareThreads 300\nKeepAlive On\n\
         MaxKeepAliveRequests 0\nKeepAliveTimeout 60\n<Directory {at}/files>\n\
         Require all granted\n</Directory>\n"
    );
    let file = folder.join("apache.conf");
    std::fs::write(&file, text)?;
    let file = file.display().to_string();
    Ok(words(&["-X", "-f", &file]))
}

fn nginx(folder: &Path, port: u16) -> Outcome<Vec<String>> {
    page(folder)?;
    let at = folder.display();
    let user = match rustix::process::geteuid().is_root() {
        true => "user root;",
        false => "",
    };
    let text = format!(
        "daemon off;\nmaster_process off;\n{user}\npid {at}/pid;\nerror_log {at}/errors;\n\
         events {{ worker_connections 1024; }}\nhttp {{\n  access_log off;\n  \
         client_body_temp_path {at}/body;\n  proxy_temp_path {at}/proxy;\n  \
         fastcgi_temp_path {at}/fastcgi;\n  uwsgi_temp_path {at}/uwsgi;\n  \
         scgi_temp_path {at}/scgi;\n  keepalive_requests 1000000000;\n  keepalive_timeout 1h;\n  \
         server {{\n    listen 127.0.0.1:{port};\n    root {at}/files;\n  }}\n}}\n"
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, text)?;
    let (file, errors) = (file.display().to_string(), format!("{at}/errors"));
    Ok(words(&["-c", &file, "-e", &errors]))
}

fn memcached(_folder: &Path, port: u16) -> Outcome<Vec<String>> {
    let port = port.to_string();
    let mut all = words(&["-l", "127.0.0.1", "-t", "4", "-p", &port]);
    if rustix::process::geteuid().is_root() {
        all.extend(words(&["-u", "root"]));
    }
    Ok(all)
}

fn redis(_folder: &Path, port: u16) -> Outcome<Vec<String>> {
    let port = port.to_string();
    Ok(words(&[
        "--bind",
        "127.0.0.1",
        "--port",
        &port,
        "--save",
        "",
        "--appendonly",
        "no",
    ]))
}

/// A thread for each connection; all read rows of one table.
fn mariadbd(folder: &Path, port: u16) -> Outcome<Vec<String>> {
    let table = "create database bench;\n\
        create table bench.pages (id int primary key, text varchar(200)) engine=innodb;\n\
        insert into bench.pages select seq, concat(repeat('x', 100), 'the end') \
        from seq_1_to_1000;\n";
    mariadb::make_data(folder, table)?;
    let mut all = mariadb::mariadbd(folder);
    all.remove(0);
    all.extend(words(&[
        "--skip-networking=0",
        "--bind-address=127.0.0.1",
        "--skip-grant-tables",
        "--max-connections=300",
    ]));
    all.push(format!("--port={port}"));
    Ok(all)
}

fn bind(folder: &Path, port: u16) -> Outcome<Vec<String>> {
    let at = folder.display();
    std::fs::write(
        folder.join("zone"),
        "$TTL 3600\n@ IN SOA ns hostmaster 1 3600 600 86400 3600\n@ IN NS ns\nns IN A 127.0.0.1\n\
         www IN A 10.1.2.3\n",
    )?;
    let text = format!(
        "options {{\n  directory \"{at}\";\n  pid-file \"{at}/pid\";\n  \
         session-keyfile \"{at}/key\";\n  listen-on port {port} {{ 127.0.0.1; }};\n  \
         listen-on-v6 {{ none; }};\n  recursion no;\n  minimal-responses yes;\n  \
         dnssec-validation no;\n}};\ncontrols {{ }};\n\
         zone \"example.test\" {{ type master; file \"{at}/zone\"; }};\n"
    );
    let file = folder.join("named.conf");
    std::fs::write(&file, text)?;
    let file = file.display().to_string();
    Ok(words(&["-f", "-n", "2", "-c", &file]))
}
