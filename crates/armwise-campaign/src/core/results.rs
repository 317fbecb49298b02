//! Sends and results as tables.
//!
//! Everything here reads checked rows; nothing here can change a campaign.

use super::{Campaign, Fate, Sent, Tag};
use crate::{
    Error,
    table::{Cell, Sheet},
};

/// The sends of a round of the campaign with this tag, as `choose` writes them.
#[must_use]
pub fn sends(tag: Tag, sent: &[Sent]) -> Sheet {
    let mut sheet =
        Sheet::new(&["customer", "promotion", "decision", "estimated_reward", "width", "draw", "score", "rank"]);
    for row in sent.iter().filter(|row| !row.hold_out) {
        sheet.push(vec![
            Cell::from(row.customer.as_str()),
            Cell::from(row.promotion.as_str()),
            Cell::Text(tag.name(row.id)),
            Cell::Number(row.mean),
            Cell::Number(row.width),
            Cell::from(row.draw),
            Cell::Number(row.score),
            Cell::Whole(i64::from(row.rank)),
        ]);
    }
    sheet
}

/// The decisions of a round with what became of them, hold-out ones included.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Damaged`].
pub fn fates(campaign: &Campaign, round: u64) -> Result<Vec<(Sent, Fate)>, Error> {
    let mut played = campaign.played(round, u64::MAX)?;
    let decisions = std::mem::take(&mut played.decisions);
    Ok(decisions.into_iter().map(|sent| (played.fate(sent.id), sent)).map(|(fate, sent)| (sent, fate)).collect())
}

/// All decisions with their present rewards.
///
/// # Errors
/// [`Error::Damaged`], [`Error::NotFound`] for a round that was not chosen.
pub fn results(campaign: &Campaign, round: Option<u64>) -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(&[
        "decision",
        "round",
        "customer",
        "promotion",
        "hold_out",
        "segment",
        "estimated_reward",
        "width",
        "score",
        "rank",
        "fate",
        "reward",
    ]);
    let rounds: Vec<u64> = match round {
        Some(round) => vec![campaign.round(round)?.round],
        None => campaign.rounds().keys().copied().collect(),
    };
    for round in rounds {
        for (sent, fate) in fates(campaign, round)? {
            sheet.push(vec![
                Cell::Text(campaign.tag().name(sent.id)),
                Cell::Whole(round.cast_signed()),
                Cell::from(sent.customer.as_str()),
                Cell::from(sent.promotion.as_str()),
                Cell::Whole(i64::from(sent.hold_out)),
                sent.segment.as_deref().map_or(Cell::Nothing, Cell::from),
                Cell::Number(sent.mean),
                Cell::Number(sent.width),
                Cell::Number(sent.score),
                Cell::Whole(i64::from(sent.rank)),
                Cell::from(fate.name()),
                Cell::from(fate.reward()),
            ]);
        }
    }
    Ok(sheet)
}
