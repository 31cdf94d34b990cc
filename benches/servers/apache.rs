//! apache2 with ModSecurity and the OWASP rules, in one process; and with PHP and DokuWiki in it.
//!
//! The rules (paranoia level 2) match each request argument against several hundred regular
//! expressions, whose compiled code is the load's working set. The package determines the number of
//! rules, so the load has no adjustable size. apache2 runs with `-X`, as one process that serves
//! one connection at a time. It loads its modules after its start, where `corehop run` cannot hook
//! them. So copies are patched, and its configuration names them.

use crate::Outcome;
use crate::dokuwiki;
use crate::pipeline::Pipeline;
use crate::running::{Place, Running};
use crate::server::{Launch, Load, Server};
use std::path::{Path, PathBuf};

const APACHE: &str = "/usr/sbin/apache2";
const MODULES: &str = "/usr/lib/apache2/modules";
const SECURITY: &str = "/usr/lib/apache2/modules/mod_security2.so";
const RULES: &str = "/usr/share/modsecurity-crs/rules";
const SETTINGS: &str = "/etc/modsecurity/crs/crs-setup.conf";
const UNICODE: &str = "/etc/modsecurity/unicode.mapping";
const LAST_WORDS: &[u8] = b"the end\n";

/// Content that apache2 serves behind the rules.
#[derive(Clone, Copy, PartialEq)]
pub enum Apache {
    /// A small file.
    File,
    /// DokuWiki's page, through PHP in the same process.
    Wiki,
}

impl Server for Apache {
    fn name(&self) -> &'static str {
        "apache2"
    }

    fn load_name(&self) -> &'static str {
        match self {
            Apache::File => "owasp",
            Apache::Wiki => "owasp-dokuwiki",
        }
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        const NEEDS: [(&str, &str); 5] = [
            (APACHE, "apache2-bin"),
            (SECURITY, "libapache2-mod-security2"),
            (RULES, "modsecurity-crs"),
            dokuwiki::NEEDS,
            ("/usr/lib/php", "libapache2-mod-php"),
        ];
        match self {
            Apache::File => &NEEDS[..3],
            Apache::Wiki => &NEEDS,
        }
    }

    fn request_at(&self) -> &'static str {
        "ap_process_request"
    }

    fn recorded_requests(&self) -> u64 {
        24
    }

    fn has_late_modules(&self) -> bool {
        true
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let folder = &place.folder;
        std::fs::create_dir(folder.join("files"))?;
        let file = [&b"x".repeat(1000)[..], LAST_WORDS].concat();
        std::fs::write(folder.join("files/page.txt"), file)?;
        let root = match self {
            Apache::File => folder.join("files"),
            Apache::Wiki => {
                dokuwiki::lay_out(folder)?;
                folder.join("wiki")
            }
        };
        let mut text = configuration(place, &root)?;
        if *self == Apache::Wiki {
            text += &php(place)?;
        }
        let file = folder.join("apache.conf");
        std::fs::write(&file, text)?;
        let (program, file) = (place.file(APACHE), file.display().to_string());
        let words = [
            program.display().to_string(),
            "-X".into(),
            "-f".into(),
            file,
        ];
        Ok(Launch {
            command: words.into(),
            ..Launch::default()
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        running.dial().map(|_| ())
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let (path, end, depth): (String, &[u8], usize) = match self {
            Apache::File => {
                let path = "/page.txt?name=Ada%20Lovelace&city=London&page=12&sort=title&q=notes+on\
                            +the+engine&lang=en&since=2024-02-29&tags=history,computing";
                (path.into(), LAST_WORDS, 20)
            }
            Apache::Wiki => (
                format!("/doku.php?{}", dokuwiki::QUERY),
                b"\r\n0\r\n\r\n",
                5,
            ),
        };
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\n\
             User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: text/html,text/plain;q=0.9\r\n\
             Accept-Language: en\r\nCookie: {}\r\n\r\n",
            dokuwiki::COOKIE
        );
        let answer: (&[u8], &[u8]) = (b"HTTP/1.1 200 OK\r\n", end);
        Ok(Box::new(Pipeline::new(
            running,
            request.as_bytes(),
            answer,
            depth,
        )?))
    }
}

/// Returns the configuration without PHP. An ETag is longer while the file is younger than a
/// second.
fn configuration(place: &Place, root: &Path) -> Outcome<String> {
    let (at, its_own) = (
        place.folder.display(),
        place.its_own().display().to_string(),
    );
    let mut text = format!(
        "ServerRoot {at}\nServerName localhost\nPidFile {at}/pid\nListen 127.0.0.1:{}\n\
         ErrorLog {at}/errors\nLogLevel error\nMutex file:{at}\nDefaultRuntimeDir {at}\n\
         DocumentRoot {}\nTimeout 600\nKeepAliveTimeout 600\nMaxKeepAliveRequests 0\n\
         MaxConnectionsPerChild 0\nServerLimit 1\nMaxRequestWorkers 1\nStartServers 1\n\
         FileETag None\n",
        place.port,
        root.display()
    );
    let text_modules = [
        "mpm_prefork",
        "authz_core",
        "dir",
        "mime",
        "unique_id",
        "security2",
    ];
    let mut modules = String::new();
    for name in text_modules {
        let file = place.file(&format!("{MODULES}/mod_{name}.so"));
        modules += &format!("LoadModule {name}_module {}\n", file.display());
    }
    if rustix::process::geteuid().is_root() {
        text += "User nobody\nGroup nogroup\n";
    }
    text += &format!(
        "TypesConfig /etc/mime.types\n<Directory {}>\nAllowOverride None\nRequire all granted\n\
         </Directory>\n\
         SecRuleEngine On\nSecRequestBodyAccess On\nSecResponseBodyAccess Off\nSecAuditEngine Off\n\
         SecDataDir {its_own}\nSecTmpDir {its_own}\nSecUnicodeMapFile {UNICODE} 20127\n\
         SecPcreMatchLimit 100000\nSecPcreMatchLimitRecursion 100000\nInclude {SETTINGS}\n\
         SecAction \"id:1,phase:1,nolog,pass,setvar:tx.paranoia_level=2\"\n\
         Include {RULES}/*.conf\n",
        root.display()
    );
    Ok(modules + &text)
}

/// Returns the configuration of PHP in the same process.
fn php(place: &Place) -> Outcome<String> {
    let entries = std::fs::read_dir(MODULES)?.flatten();
    let mut files = entries.map(|entry| entry.path());
    let is_php = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libphp") && name.ends_with(".so")
    };
    let file = files
        .find(is_php)
        .ok_or("no PHP for apache2: apt-get install libapache2-mod-php")?;
    let file = place.file(&file.display().to_string());
    let at = place.folder.display();
    Ok(format!(
        "LoadModule php_module {}\n<FilesMatch \\.php$>\nSetHandler application/x-httpd-php\n\
         </FilesMatch>\nphp_admin_value opcache.jit disable\n\
         php_admin_value session.save_path {at}/data/tmp\n",
        file.display()
    ))
}
