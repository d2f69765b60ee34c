//! What evidence travels in: each packing is told by its content, and a tar gives its files back.

use std::io::Write;

use raftscope::evidence::file::File;
use raftscope::evidence::parcel::{Packing, open_tar, packing, unpack};

use crate::support::synth::tar;

fn content_of(file: &File) -> Vec<u8> {
    file.read_up_to(0, usize::MAX).unwrap()
}

#[test]
fn every_packing_is_told_by_content_and_gives_the_same_tar() {
    let plain = tar::tarred(&[("./a/one", "1"), ("two", "22")]).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&plain).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&plain).unwrap();
    let packed = [
        (Packing::Tar, plain.clone()),
        (Packing::Gzip, gz.finish().unwrap()),
        (Packing::Xz, xz.finish().unwrap()),
        (Packing::Zstd, zstd::encode_all(&plain[..], 1).unwrap()),
    ];
    for (kind, bytes) in packed {
        assert_eq!(packing(&bytes), Some(kind));
        let mut notes = Vec::new();
        let file = unpack(&File::from_memory("case", bytes), kind, &mut notes).unwrap();
        let parcel = open_tar(&file, &mut notes).unwrap();
        assert_eq!(parcel.files.keys().collect::<Vec<_>>(), ["a/one", "two"]);
        assert_eq!((content_of(&parcel.files["a/one"]), notes.len()), (b"1".to_vec(), 0));
        assert_eq!(parcel.files["two"].path(), "case/two");
    }
    assert_eq!(packing(b"\x80\x02\x81"), None);
    assert_eq!(packing(&[0; 1024]), None);
}

#[test]
fn a_tar_that_was_cut_keeps_what_is_there_and_says_so() {
    let plain = tar::tarred(&[("one", &[1; 3000]), ("two", &[2; 3000])]).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gz.write_all(&plain).unwrap();
    let cut = &gz.finish().unwrap()[..5500];
    let mut notes = Vec::new();
    let file = unpack(&File::from_memory("case", cut.to_vec()), Packing::Gzip, &mut notes).unwrap();
    let parcel = open_tar(&file, &mut notes).unwrap();
    assert_eq!(content_of(&parcel.files["one"]), [1; 3000]);
    assert!(parcel.files["two"].len() < 3000);
    assert!(notes[0].contains("cut off") && notes[1].contains("ends inside of two"), "{notes:?}");
}

#[test]
fn a_file_stored_without_its_holes_is_read_with_them() {
    let file = File::from_memory("case", tar::sparse("wal/a").unwrap());
    let parcel = open_tar(&file, &mut Vec::new()).unwrap();
    let read = content_of(&parcel.files["wal/a"]);
    assert_eq!((read.len(), &read[999..1004], read[69_999]), (70_000, &b"\0xyz\0"[..], b'!'));
}
