//! Makes tars, as a person packs evidence.

use std::io::Result;

use tar::{Builder, Header};

/// A tar of files, each with its path and its content.
pub fn tarred(files: &[(impl AsRef<str>, impl AsRef<[u8]>)]) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    for (path, content) in files {
        let content = content.as_ref();
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_cksum();
        builder.append_data(&mut header, path.as_ref(), content)?;
    }
    builder.into_inner()
}

/// A tar of one file of 70,000 bytes stored without its holes: zeros, but for `xyz` from byte 1000 on and `!` at the end.
pub fn sparse(name: &str) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    let pax = [
        ("GNU.sparse.major", "1"),
        ("GNU.sparse.minor", "0"),
        ("GNU.sparse.name", name),
        ("GNU.sparse.realsize", "70000"),
    ];
    builder.append_pax_extensions(pax.map(|(key, value)| (key, value.as_bytes())))?;
    let mut content = b"2\n1000\n3\n69999\n1\n".to_vec();
    content.resize(512, 0);
    content.extend_from_slice(b"xyz!");
    let mut header = Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_cksum();
    builder.append_data(&mut header, "GNUSparseFile.0/a", &content[..])?;
    builder.into_inner()
}
