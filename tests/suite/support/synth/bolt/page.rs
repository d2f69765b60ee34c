//! The bytes of a page: elements, headers, checksum, in either byte order (storage.md 2.2 to 2.4).

/// Page header: `u64 id | u16 flags | u16 count | u32 overflow`.
pub(super) const HEADER: usize = 16;
/// A branch or leaf element, before its key and value.
pub(super) const ELEMENT: usize = 16;

/// The byte order of the machine that wrote the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// amd64, arm64
    Little,
    /// s390x
    Big,
}
pub(super) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;
/// The smallest key of a page, and its id.
pub(super) type Children = Vec<(Vec<u8>, u64)>;

pub(super) fn push_header(order: Order, out: &mut Vec<u8>, id: u64, flags: u16, count: u16, overflow: u32) {
    order.push_u64(out, id);
    order.push_u16(out, flags);
    order.push_u16(out, count);
    order.push_u32(out, overflow);
}

/// A leaf's elements and then their keys and values; positions count from each element's own start.
pub(super) fn leaf_body<'a>(
    order: Order,
    elements: impl Iterator<Item = (u32, &'a [u8], &'a [u8])> + Clone,
) -> Vec<u8> {
    let mut position = elements.clone().count() * ELEMENT;
    let mut body = Vec::new();
    for (flags, key, value) in elements.clone() {
        for field in [flags, position as u32, key.len() as u32, value.len() as u32] {
            order.push_u32(&mut body, field);
        }
        position += key.len() + value.len();
        position -= ELEMENT;
    }
    for (_, key, value) in elements {
        body.extend_from_slice(key);
        body.extend_from_slice(value);
    }
    body
}

pub(super) fn branch_body(order: Order, children: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let mut position = children.len() * ELEMENT;
    let mut body = Vec::new();
    for (key, child) in children {
        order.push_u32(&mut body, position as u32);
        order.push_u32(&mut body, key.len() as u32);
        order.push_u64(&mut body, *child);
        position += key.len();
        position -= ELEMENT;
    }
    children.iter().for_each(|(key, _)| body.extend_from_slice(key));
    body
}

pub(super) fn leaf_elements(order: Order, page: &[u8]) -> Vec<(u32, &[u8], &[u8])> {
    let at = |place: usize| {
        let element = HEADER + place * ELEMENT;
        let field = |number: usize| order.u32(page, element + 4 * number) as usize;
        let key = element + field(1);
        let value = key + field(2);
        (field(0) as u32, &page[key..value], &page[value..value + field(3)])
    };
    (0..order.u16(page, 10) as usize).map(at).collect()
}

pub(super) fn pairs(order: Order, page: &[u8]) -> Pairs {
    leaf_elements(order, page).into_iter().map(|(_, key, value)| (key.to_vec(), value.to_vec())).collect()
}

pub(super) fn branch_elements(order: Order, page: &[u8]) -> Children {
    let at = |place: usize| {
        let element = HEADER + place * ELEMENT;
        let key = element + order.u32(page, element) as usize;
        let end = key + order.u32(page, element + 4) as usize;
        (page[key..end].to_vec(), order.u64(page, element + 8))
    };
    (0..order.u16(page, 10) as usize).map(at).collect()
}

pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

macro_rules! integers {
    ($($push:ident $get:ident $type:ty),*) => {
        impl Order {
            $(
                pub(super) fn $push(self, out: &mut Vec<u8>, value: $type) {
                    out.extend_from_slice(&match self {
                        Order::Little => value.to_le_bytes(),
                        Order::Big => value.to_be_bytes(),
                    });
                }

                pub(super) fn $get(self, bytes: &[u8], at: usize) -> $type {
                    let mut field = [0; size_of::<$type>()];
                    field.copy_from_slice(&bytes[at..at + size_of::<$type>()]);
                    match self {
                        Order::Little => <$type>::from_le_bytes(field),
                        Order::Big => <$type>::from_be_bytes(field),
                    }
                }
            )*
        }
    };
}

integers!(push_u16 u16 u16, push_u32 u32 u32, push_u64 u64 u64);
