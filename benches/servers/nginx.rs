//! Unmodified nginx that serves one small file: the other server that hops cannot help.
//!
//! It is one process without a master, so that a variant is one process. A request takes 20 µs,
//! most of them in the kernel, and its code and data fit an L2 many times over.

use crate::Outcome;
use crate::pipeline::Pipeline;
use crate::running::{Place, Running};
use crate::server::{Launch, Load, Server};

const FILE_BYTES: usize = 1000;
const LAST_WORDS: &[u8] = b"the end\n";
/// Requests sent together.
const DEPTH: usize = 100;

/// nginx in one process.
pub struct Nginx;

impl Server for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn load_name(&self) -> &'static str {
        "static"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("/usr/sbin/nginx", "nginx-light")]
    }

    fn request_at(&self) -> &'static str {
        "ngx_http_process_request"
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let (folder, port) = (&place.folder, place.port);
        let at = folder.display();
        let user = match rustix::process::geteuid().is_root() {
            true => "user root;",
            false => "",
        };
        let configuration = format!(
            "daemon off;\nmaster_process off;\n{user}\npid {at}/pid;\nerror_log {at}/errors;\n\
             events {{}}\nhttp {{\n  access_log off;\n  client_body_temp_path {at}/body;\n  \
             proxy_temp_path {at}/proxy;\n  fastcgi_temp_path {at}/fastcgi;\n  \
             uwsgi_temp_path {at}/uwsgi;\n  scgi_temp_path {at}/scgi;\n  \
             keepalive_requests 1000000000;\n  keepalive_timeout 1h;\n  server {{\n    \
             listen 127.0.0.1:{port};\n    root {at}/files;\n  }}\n}}\n"
        );
        std::fs::write(folder.join("nginx.conf"), configuration)?;
        std::fs::create_dir(folder.join("files"))?;
        let mut file = vec![b'x'; FILE_BYTES - LAST_WORDS.len()];
        file.extend(LAST_WORDS);
        std::fs::write(folder.join("files/page.txt"), file)?;
        let words = ["/usr/sbin/nginx", "-c"].map(str::to_owned);
        let configuration = folder.join("nginx.conf").display().to_string();
        let log = ["-e".to_owned(), format!("{at}/errors")];
        Ok(Launch {
            command: words
                .into_iter()
                .chain([configuration])
                .chain(log)
                .collect(),
            ..Launch::default()
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        running.dial().map(|_| ())
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let request = b"GET /page.txt HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let answer: (&[u8], &[u8]) = (b"HTTP/1.1 200 OK\r\n", LAST_WORDS);
        Ok(Box::new(Pipeline::new(running, request, answer, DEPTH)?))
    }
}
