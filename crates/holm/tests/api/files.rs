//! The files of a closed database: their contents, and a superblock that names another design. The programs that test
//! other designs use it too.

use std::collections::BTreeMap;
use std::path::Path;

/// Returns the contents of each file, by its name.
pub(crate) fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(path).expect("a folder").map(|file| file.expect("a file"));
    files.map(|file| (file.file_name().to_string_lossy().into(), std::fs::read(file.path()).expect("a file"))).collect()
}

/// Rewrites the superblock of a closed database so that it names another design.
pub(crate) fn rename_design(folder: &Path, design: &[u8; 8]) {
    let path = folder.join("superblock");
    let mut bytes = std::fs::read(&path).expect("a file");
    for slot in bytes.chunks_mut(4096) {
        slot[64..72].copy_from_slice(design);
        slot[16..20].fill(0);
        let crc = crc32c::crc32c(slot);
        slot[16..20].copy_from_slice(&crc.to_le_bytes());
    }
    std::fs::write(&path, bytes).expect("a file");
}
