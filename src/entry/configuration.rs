//! The servers of a cluster, as raft's own log entries name them (storage.md 3.1).

use serde::Serialize;

use super::msgpack::{Reader, Result};

/// One server of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Server {
    /// `Voter`, `Nonvoter`, `Staging`, or a number that raft does not know.
    pub suffrage: String,
    /// Its ID; the address with raft protocol 2.
    pub id: String,
    /// `ip:port` of its RPC listener.
    pub address: String,
}

/// The servers of a configuration entry's payload.
///
/// # Errors
/// When the payload is no configuration.
pub fn servers(data: &[u8]) -> Result<Vec<Server>> {
    let mut servers = Vec::new();
    Reader::new(data).fields(|key, r| match key {
        b"Servers" => r.items(|r| server(r).map(|server| servers.push(server))).map(|_| ()),
        _ => r.skip(),
    })?;
    Ok(servers)
}

fn server(r: &mut Reader<'_>) -> Result<Server> {
    let mut server = Server { suffrage: suffrage(0), ..Server::default() };
    r.fields(|key, r| {
        match key {
            b"Suffrage" => server.suffrage = suffrage(r.int()?),
            b"ID" => server.id = r.text()?.into_owned(),
            b"Address" => server.address = r.text()?.into_owned(),
            _ => r.skip()?,
        }
        Ok(())
    })?;
    Ok(server)
}

/// raft's name for a suffrage.
pub fn suffrage(n: i64) -> String {
    match n {
        0 => "Voter".into(),
        1 => "Nonvoter".into(),
        2 => "Staging".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_with_their_suffrage() {
        let data = b"\x81\xa7Servers\x92\x83\xa8Suffrage\x00\xa2ID\xa1a\xa7Address\xa9127.0.0.1\x82\xa8Suffrage\x01\xa2ID\xa1b";
        let got = servers(data).unwrap();
        assert_eq!(got[0], Server { suffrage: "Voter".into(), id: "a".into(), address: "127.0.0.1".into() });
        assert_eq!((got[1].suffrage.as_str(), got[1].address.as_str()), ("Nonvoter", ""));
        assert!(servers(&data[..20]).is_err());
    }
}
