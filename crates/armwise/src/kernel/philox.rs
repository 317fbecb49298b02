//! Many calls of Philox at once, with instructions that the compiler would not choose by itself.
//!
//! Only the first half of the answer is asked for, and all counters have the same second half. So the first round has
//! one product that all ids share, and the last two make only what is read. Upper halves of products are moved down by
//! a shuffle, since the units that multiply also shift.

use super::{Kernel, Path};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _MM_PERM_CCAA, _MM_PERM_DDBB, _mm256_blend_epi32, _mm256_loadu_si256, _mm256_mul_epu32, _mm256_set1_epi64x,
    _mm256_shuffle_epi32, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_xor_si256, _mm512_loadu_epi64,
    _mm512_mask_shuffle_epi32, _mm512_mul_epu32, _mm512_set1_epi64, _mm512_shuffle_epi32, _mm512_srli_epi64,
    _mm512_storeu_epi64, _mm512_ternarylogic_epi64, _mm512_xor_epi64,
};

/// The multipliers of Philox4x32.
pub(crate) const FACTORS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];

/// Philox4x32-10 for counters of an id and a tail, with all that does not depend on the id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Philox {
    /// What the first round adds to the upper half of the id, and to the upper half of the product with its lower half.
    first: [u32; 2],
    /// What the second round adds to the upper half of its second product.
    second: u32,
    keys: [[u32; 2]; 10],
}

impl Philox {
    /// For this second half of the counters and these round keys.
    pub(crate) fn new(tail: [u32; 2], keys: [[u32; 2]; 10]) -> Self {
        let product = u64::from(tail[0]) * u64::from(FACTORS[1]);
        let first = [(product >> 32) as u32 ^ keys[0][0], tail[1] ^ keys[0][1]];
        Self { first, second: product as u32 ^ keys[1][0], keys }
    }

    /// The first 64 bits for each id.
    ///
    /// # Panics
    /// If there are not as many places as ids.
    pub(crate) fn bits(&self, kernel: Kernel, ids: &[u64], out: &mut [u64]) {
        assert_eq!(ids.len(), out.len(), "a place for each id");
        match kernel.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the path is one that the processor has.
            Path::Avx512 => in_groups(ids, out, |ids, out| unsafe { avx512(self, ids, out) }),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Path::Avx2 => in_groups(ids, out, |ids, out| unsafe { avx2(self, ids, out) }),
            Path::Portable => portable(self, ids, out),
        }
    }
}

/// Whole groups, then the rest as one group with ids that nobody asks for.
fn in_groups<const L: usize>(ids: &[u64], out: &mut [u64], make: impl Fn(&[[u64; L]], &mut [[u64; L]])) {
    let ((some, rest), (some_out, rest_out)) = (ids.as_chunks(), out.as_chunks_mut());
    make(some, some_out);
    if !rest.is_empty() {
        let (mut last, mut made) = ([[0; L]], [[0; L]]);
        last[0][..rest.len()].copy_from_slice(rest);
        make(&last, &mut made);
        rest_out.copy_from_slice(&made[0][..rest.len()]);
    }
}

/// Words of 64 bits whose upper halves do not matter, in nothing but a plain zip: the compiler makes a loop over
/// registers of it, with the multiplication of lower halves that vector units have.
#[inline(never)]
fn portable(of: &Philox, ids: &[u64], out: &mut [u64]) {
    const LOWER: u64 = u32::MAX as u64;
    let (first, second, keys) = (of.first.map(u64::from), u64::from(of.second), of.keys.map(|key| key.map(u64::from)));
    let times = |word: u64, which: usize| (word & LOWER) * u64::from(FACTORS[which]);
    for (&id, out) in ids.iter().zip(out) {
        let p0 = times(id, 0);
        let (mut c0, mut c1, mut c2, mut c3) = (first[0] ^ id >> 32, 0, first[1] ^ p0 >> 32, p0);
        for (round, key) in keys[1..9].iter().enumerate() {
            let (p0, p1) = (times(c0, 0), times(c2, 1));
            let own = if round == 0 { second } else { c1 ^ key[0] };
            (c0, c1, c2, c3) = (p1 >> 32 ^ own, p1, p0 >> 32 ^ c3 ^ key[1], p0);
        }
        let p1 = times(c2, 1);
        *out = (p1 >> 32 ^ c1 ^ keys[9][0]) & LOWER | p1 << 32;
    }
}

/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(of: &Philox, ids: &[[u64; 8]], out: &mut [[u64; 8]]) {
    /// The upper half of every word in both halves, and the lower half.
    const UPPER: i32 = 0b11_11_01_01;
    const LOWER: i32 = 0b10_10_00_00;
    // Without `map`, which would be a function of its own, with its numbers in memory.
    let all = |word: u32| _mm256_set1_epi64x(i64::from(word));
    let both = |[a, b]: [u32; 2]| [all(a), all(b)];
    let (factors, first, second) = (both(FACTORS), both(of.first), all(of.second));
    let mut keys = [[second; 2]; 10];
    for round in 0..10 {
        keys[round] = both(of.keys[round]);
    }
    for (ids, out) in ids.iter().zip(out) {
        // Two registers in turns: the chain of one leaves the units idle half of the time.
        let mut p0 = [second; 2];
        let (mut c0, mut c2, mut own) = (p0, p0, p0);
        for v in 0..2 {
            // SAFETY: there are eight numbers.
            let ids = unsafe { _mm256_loadu_si256(ids.as_ptr().add(4 * v).cast()) };
            p0[v] = _mm256_mul_epu32(ids, factors[0]);
            c0[v] = _mm256_xor_si256(_mm256_srli_epi64::<32>(ids), first[0]);
            c2[v] = _mm256_xor_si256(_mm256_shuffle_epi32::<UPPER>(p0[v]), first[1]);
        }
        for round in 1..8 {
            for v in 0..2 {
                let (next, p1) = (_mm256_mul_epu32(c0[v], factors[0]), _mm256_mul_epu32(c2[v], factors[1]));
                let other = _mm256_xor_si256(p0[v], keys[round][1]);
                c0[v] = _mm256_xor_si256(_mm256_shuffle_epi32::<UPPER>(p1), own[v]);
                c2[v] = _mm256_xor_si256(_mm256_shuffle_epi32::<UPPER>(next), other);
                own[v] = _mm256_xor_si256(p1, keys[round + 1][0]);
                p0[v] = next;
            }
        }
        for v in 0..2 {
            let (next, p1) = (_mm256_mul_epu32(c0[v], factors[0]), _mm256_mul_epu32(c2[v], factors[1]));
            let other = _mm256_xor_si256(p0[v], keys[8][1]);
            c2[v] = _mm256_xor_si256(_mm256_shuffle_epi32::<UPPER>(next), other);
            own[v] = _mm256_xor_si256(p1, keys[9][0]);
            let last = _mm256_mul_epu32(c2[v], factors[1]);
            c0[v] = _mm256_xor_si256(_mm256_shuffle_epi32::<UPPER>(last), own[v]);
            let bits = _mm256_blend_epi32::<0b1010_1010>(c0[v], _mm256_shuffle_epi32::<LOWER>(last));
            // SAFETY: there are eight places.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(4 * v).cast(), bits) };
        }
    }
}

/// # Safety
/// The processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(of: &Philox, ids: &[[u64; 8]], out: &mut [[u64; 8]]) {
    /// a ^ b ^ c.
    const XOR: i32 = 0x96;
    // Without `map`, which would be a function of its own, with its numbers in memory.
    let all = |word: u32| _mm512_set1_epi64(i64::from(word));
    let both = |[a, b]: [u32; 2]| [all(a), all(b)];
    let (factors, first, second) = (both(FACTORS), both(of.first), all(of.second));
    let mut keys = [[second; 2]; 10];
    for round in 0..10 {
        keys[round] = both(of.keys[round]);
    }
    for (ids, out) in ids.iter().zip(out) {
        // SAFETY: there are eight numbers.
        let ids = unsafe { _mm512_loadu_epi64(ids.as_ptr().cast()) };
        let mut p0 = _mm512_mul_epu32(ids, factors[0]);
        let mut c0 = _mm512_xor_epi64(_mm512_srli_epi64::<32>(ids), first[0]);
        let mut c2 = _mm512_xor_epi64(_mm512_shuffle_epi32::<_MM_PERM_DDBB>(p0), first[1]);
        let mut c1 = _mm512_xor_epi64(second, keys[1][0]);
        for round in 1..8 {
            let (next, p1) = (_mm512_mul_epu32(c0, factors[0]), _mm512_mul_epu32(c2, factors[1]));
            let upper = [next, p1].map(|product| _mm512_shuffle_epi32::<_MM_PERM_DDBB>(product));
            c0 = _mm512_ternarylogic_epi64::<XOR>(upper[1], c1, keys[round][0]);
            c2 = _mm512_ternarylogic_epi64::<XOR>(upper[0], p0, keys[round][1]);
            (c1, p0) = (p1, next);
        }
        let (next, p1) = (_mm512_mul_epu32(c0, factors[0]), _mm512_mul_epu32(c2, factors[1]));
        let upper = _mm512_shuffle_epi32::<_MM_PERM_DDBB>(next);
        c2 = _mm512_ternarylogic_epi64::<XOR>(upper, p0, keys[8][1]);
        let last = _mm512_mul_epu32(c2, factors[1]);
        let upper = _mm512_shuffle_epi32::<_MM_PERM_DDBB>(last);
        c0 = _mm512_ternarylogic_epi64::<XOR>(upper, p1, keys[9][0]);
        let bits = _mm512_mask_shuffle_epi32::<_MM_PERM_CCAA>(c0, 0xAAAA, last);
        // SAFETY: there are eight places.
        unsafe { _mm512_storeu_epi64(out.as_mut_ptr().cast(), bits) };
    }
}
