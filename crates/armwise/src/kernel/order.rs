//! Floats as integers with the same order, so that a maximum can be kept in an atomic and sorting compares integers.

/// Bits that are ordered as the numbers are.
pub(crate) fn ordered(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

pub(crate) fn unordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_bits_keep_the_order_and_the_number() {
        let numbers = [f64::NEG_INFINITY, -1e300, -1.0, -1e-300, -0.0, 0.0, 1e-300, 1.0, 1e300, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert!(numbers.iter().all(|x| unordered(ordered(*x)).to_bits() == x.to_bits()));
    }
}
