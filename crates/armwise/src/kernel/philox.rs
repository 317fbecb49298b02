//! Many calls of Philox at once, with instructions that the compiler would not choose by itself.
//!
//! One of the two units for wide registers multiplies and shifts, the other shuffles. So the upper
//! halves of products are moved down by a shuffle, and both units are busy.

use super::{Kernel, Path};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _MM_PERM_CCAA, _MM_PERM_DDBB, _mm512_loadu_epi64, _mm512_mask_shuffle_epi32, _mm512_mul_epu32, _mm512_set1_epi64,
    _mm512_shuffle_epi32, _mm512_srli_epi64, _mm512_storeu_epi64, _mm512_ternarylogic_epi64,
};

/// The multipliers of Philox4x32.
pub(crate) const FACTORS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];

impl Kernel {
    /// The first 64 bits of Philox4x32-10 for counters of an id and a tail, eight ids at a time. Returns how many ids
    /// were done: none on processors where a plain loop is as fast.
    pub(crate) fn philox(self, ids: &[u64], tail: [u32; 2], keys: &[[u32; 2]; 10], out: &mut [u64]) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => {
                let (ids, out) = (ids.as_chunks().0, out.as_chunks_mut().0);
                // SAFETY: the path is one that the processor has.
                unsafe { avx512(ids, tail, keys, out) };
                8 * ids.len().min(out.len())
            }
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => 0,
            Path::Portable => {
                let _ = (ids, tail, keys, out);
                0
            }
        }
    }
}

/// # Safety
/// The processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(ids: &[[u64; 8]], tail: [u32; 2], keys: &[[u32; 2]; 10], out: &mut [[u64; 8]]) {
    /// a ^ b ^ c.
    const XOR: i32 = 0x96;
    let all = |word: u32| _mm512_set1_epi64(i64::from(word));
    let factors = FACTORS.map(all);
    let tail = tail.map(all);
    for (ids, out) in ids.iter().zip(out) {
        // Words of 32 bits, each in the lower half of 64; the upper halves are ignored.
        // SAFETY: there are eight numbers.
        let ids = unsafe { _mm512_loadu_epi64(ids.as_ptr().cast()) };
        let mut counter = [ids, _mm512_srli_epi64::<32>(ids), tail[0], tail[1]];
        for key in keys {
            let products = [_mm512_mul_epu32(counter[0], factors[0]), _mm512_mul_epu32(counter[2], factors[1])];
            let upper = products.map(|product| _mm512_shuffle_epi32::<_MM_PERM_DDBB>(product));
            counter = [
                _mm512_ternarylogic_epi64::<XOR>(upper[1], counter[1], all(key[0])),
                products[1],
                _mm512_ternarylogic_epi64::<XOR>(upper[0], counter[3], all(key[1])),
                products[0],
            ];
        }
        let bits = _mm512_mask_shuffle_epi32::<_MM_PERM_CCAA>(counter[0], 0xAAAA, counter[1]);
        // SAFETY: there are eight places.
        unsafe { _mm512_storeu_epi64(out.as_mut_ptr().cast(), bits) };
    }
}
