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
    sheet(tag, sent.iter().filter(|sent| !sent.hold_out))
}

/// The hold-out of a round: whom the same rules would have chosen, for what. They are not contacted; their outcomes are
/// learned by the ids of their decisions like those of sends.
#[must_use]
pub fn hold_out(tag: Tag, sent: &[Sent]) -> Sheet {
    sheet(tag, sent.iter().filter(|sent| sent.hold_out))
}

fn sheet<'a>(tag: Tag, sent: impl Iterator<Item = &'a Sent>) -> Sheet {
    let sent: Vec<&Sent> = sent.collect();
    let mut columns = vec!["customer", "promotion", "decision", "estimated_reward", "width", "draw", "score", "rank"];
    // Only where there are some, so that the sheets of other rounds stay what they were.
    let probable = sent.iter().any(|row| row.probability.is_some());
    columns.extend(probable.then_some("probability"));
    let mut sheet = Sheet::new(&columns);
    for row in sent {
        let mut cells = vec![
            Cell::from(row.customer.as_str()),
            Cell::from(row.promotion.as_str()),
            Cell::Text(tag.name(row.id)),
            Cell::Number(row.mean),
            Cell::Number(row.width),
            Cell::from(row.draw),
            Cell::Number(row.score),
            Cell::Whole(i64::from(row.rank)),
        ];
        if probable {
            cells.push(Cell::from(row.probability));
        }
        sheet.push(cells);
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
    Ok(decisions.into_iter().map(|sent| (played.fate(&sent), sent)).map(|(fate, sent)| (sent, fate)).collect())
}

/// All decisions with their present rewards, and the probabilities with which they were looked at where there are some.
///
/// # Errors
/// [`Error::Damaged`], [`Error::NotFound`] for a round that was not chosen.
pub fn results(campaign: &Campaign, round: Option<u64>) -> Result<Sheet, Error> {
    let mut columns = vec![
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
    ];
    let mut rounds = Vec::new();
    match round {
        Some(round) => rounds.push(campaign.round(round)?.round),
        // Of rounds that were given up there is nothing to tell.
        None => campaign.each_round(campaign.compacted() + 1..=u64::MAX, &mut |info| {
            rounds.push(info.round);
            Ok(())
        })?,
    }
    let mut rows = Vec::new();
    for round in rounds {
        for (sent, fate) in fates(campaign, round)? {
            let cells = vec![
                Cell::Text(campaign.tag().name(sent.id)),
                Cell::Whole(sent.id.round.cast_signed()),
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
            ];
            rows.push((cells, fate.examined()));
        }
    }
    // Only where there are some, so that the sheets of other campaigns stay what they were.
    let some = rows.iter().any(|(_, examined)| examined.is_some());
    columns.extend(some.then_some("examined"));
    let mut sheet = Sheet::new(&columns);
    for (mut cells, examined) in rows {
        cells.extend(some.then(|| Cell::from(examined)));
        sheet.push(cells);
    }
    Ok(sheet)
}
