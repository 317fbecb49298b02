//! Random numbers that are a function of a seed, and a table of customers, for the tests that attack at random.

/// Random numbers that are a function of the seed (SplitMix64).
pub(crate) fn draws(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0xD134_2543_DE82_EF95);
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

/// A table of customers.
pub(crate) fn customers(rows: usize) -> String {
    let row = |i: usize| format!("C{i:03},{},{}\n", 18 + i * 7919 % 70, ["north", "south", "east"][i * 31 % 3]);
    format!("customer,age,region\n{}", (0..rows).map(row).collect::<String>())
}
