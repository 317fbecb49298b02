//! What was sent and answered before the campaign began, learned as if it had been a round: round 0.
//!
//! Each row is a decision that somebody else made, with its reward. The estimate is least squares, which asks only what
//! a row's features were and what it paid, not why it was chosen; so a row has no weight. The probability with which it
//! was sent, if the log knows it, is kept for evaluation.

use super::{
    Answer, Campaign, Command, DecisionId, Draft, Key, Learned, Logged, Original, Originals, Outcome, Refusal,
    Rejection, Sent, Sha, judge, texts,
};
use crate::{
    Error,
    config::{Config, Keep},
    input::Source,
    recipe::Oddities,
    round::kept_columns,
    table::{Cell, Rows, Sheet},
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What is known of a logged row beside its columns.
struct Row {
    customer: Option<String>,
    promotion: Option<String>,
    reward: Option<String>,
    examined: Option<String>,
    probability: Option<String>,
}

/// Learns a table of past sends before the first round: the customers' columns, `promotion`, `reward` and, if they are
/// known, `examined`, the probability with which the row was looked at, and `probability`, the one with which it was sent.
/// The same table again changes nothing.
///
/// # Errors
/// [`Error::Refused`] after the first round or after another such table, [`Error::Table`] and [`Error::Cell`] for a
/// table that features cannot be made of, [`Error::KeyUsed`]; nothing has changed then. Rows put aside are not an error.
pub fn learn_logged(campaign: &mut Campaign, table: &dyn Source, key: Option<&Key>) -> Result<(Learned, Sheet), Error> {
    let against = campaign.head();
    let config = campaign.config().clone();
    let columns = kept_columns(&config, campaign.recipe(), table)?;
    let read = read(campaign, &config, table, columns.as_deref().unwrap_or_default())?;
    let same = |command: &Command| matches!(command, Command::Logged(logged) if logged.digest == read.digest);
    let before = match campaign.earlier(key, same)? {
        Some((entry, _)) => Some(entry),
        None => match &campaign.state.logged {
            Some(info) => {
                let entry = campaign.journal.entry(info.seq)?;
                let entry = entry.filter(|entry| entry.command().is_ok_and(|command| same(&command)));
                Some(entry.ok_or(Refusal::LoggedBefore)?)
            }
            None if campaign.rounds().is_empty() => None,
            None => return Err(Refusal::LoggedLate.into()),
        },
    };
    let (rows, rejected, applied) = (read.rows, read.rejects.len() as u64, read.decisions.len() as u64);
    // A request with a key gets the answer that it got.
    let known = before.as_ref().is_some_and(|entry| key.is_none_or(|key| entry.key.as_deref() != Some(key.as_str())));
    let model = match before {
        Some(entry) if !known => entry.model,
        Some(_) => campaign.model_hash(),
        None if read.decisions.is_empty() => campaign.model_hash(),
        None => {
            let originals = columns.map(|columns| Originals::new(columns, &read.originals));
            let name = table.name().to_owned();
            let command = Command::Logged(Logged { table: name, digest: read.digest, originals, read: rows, rejected });
            let (decisions, outcomes) = (&read.decisions[..], &read.outcomes[..]);
            let originals = if config.keep == Keep::None { &[] } else { &read.originals[..] };
            campaign
                .append(&against, &Draft { key, decisions, outcomes, originals, ..Draft::new(command) }, || Ok(()))?;
            campaign.model_hash()
        }
    };
    let (applied, repeated) = if known { (0, applied) } else { (applied, 0) };
    let learned = Learned {
        rows,
        applied,
        hold_out: 0,
        repeated,
        rejected,
        reasons: read.reasons,
        pending: 0,
        rounds: Vec::new(),
        model,
    };
    Ok((learned, read.rejects))
}

/// What was logged, as it was learned: who got what, what it paid, and the probability with which it was sent; where some
/// have one, also that with which it was looked at.
///
/// # Errors
/// [`Error::NotFound`] if nothing was, [`Error::Damaged`].
pub fn logged(campaign: &Campaign) -> Result<Sheet, Error> {
    let Some(info) = &campaign.state.logged else {
        return Err(Error::NotFound { what: "logged table", name: String::new(), hint: String::new() });
    };
    let originals = campaign.originals(info.round)?.map(|(_, originals)| originals).unwrap_or_default();
    let played = campaign.played(info.round, u64::MAX)?;
    let mut columns = vec!["customer", "promotion", "reward", "probability"];
    let examined = played.learned().any(|(_, answer)| answer.examined.is_some());
    columns.extend(examined.then_some("examined"));
    let mut sheet = Sheet::new(&columns);
    for (place, sent) in played.decisions.iter().enumerate() {
        let fate = played.fate(sent);
        let mut cells = vec![
            Cell::from(sent.customer.as_str()),
            Cell::from(sent.promotion.as_str()),
            Cell::from(fate.reward()),
            Cell::from(originals.get(place).and_then(|original| original.probability)),
        ];
        cells.extend(examined.then(|| Cell::from(fate.examined())));
        sheet.push(cells);
    }
    Ok(sheet)
}

/// A table of past sends.
struct Read {
    rows: u64,
    digest: Sha,
    decisions: Vec<Sent>,
    outcomes: Vec<Outcome>,
    originals: Vec<Original>,
    rejects: Sheet,
    /// Whether the table says how probable it was that a row was looked at.
    examined: bool,
    reasons: BTreeMap<&'static str, u64>,
}

fn read(campaign: &Campaign, config: &Config, table: &dyn Source, keep: &[String]) -> Result<Read, Error> {
    let has: Vec<String> = table.columns()?.into_iter().map(|(name, _)| name).collect();
    for needed in [config.customer.as_str(), "promotion", "reward"] {
        if !has.iter().any(|has| has == needed) {
            let problem = format!("a column {needed:?} is needed; it has {}", has.join(", "));
            return Err(Error::table(table.name(), problem));
        }
    }
    let [examined, probability] = ["examined", "probability"].map(|name| has.iter().any(|has| has == name));
    let recipe = campaign.recipe();
    let mut columns: Vec<String> = vec![config.customer.clone(), "promotion".to_owned(), "reward".to_owned()];
    columns.extend(examined.then(|| "examined".to_owned()));
    columns.extend(probability.then(|| "probability".to_owned()));
    columns.extend(recipe.names().map(str::to_owned).chain(keep.iter().cloned()));
    columns.sort();
    columns.dedup();
    let mut read = Read {
        rows: 0,
        digest: Sha::of(""),
        decisions: Vec::new(),
        outcomes: Vec::new(),
        originals: Vec::new(),
        rejects: Sheet::new(if examined {
            &["line", "customer", "promotion", "reward", "examined", "probability", "reason"]
        } else {
            &["line", "customer", "promotion", "reward", "probability", "reason"]
        }),
        examined,
        reasons: BTreeMap::new(),
    };
    let mut hash = Sha256::new();
    for rows in table.batches(Some(&columns))? {
        let rows: Rows = rows?;
        let (features, _) = {
            let mut odd = Oddities::default();
            let mut features = Vec::new();
            recipe.read(&rows, &mut odd)?.features(None, &mut features);
            (features, odd)
        };
        let kept = texts(&rows, keep)?;
        let [customers, promotions] = [config.customer.as_str(), "promotion"].map(|column| rows.ids(column));
        let (customers, promotions, rewards) = (customers?, promotions?, rows.originals("reward")?);
        let told = |there: bool, name: &str| if there { rows.originals(name) } else { Ok(vec![None; rows.len()]) };
        let (seen, chances) = (told(examined, "examined")?, told(probability, "probability")?);
        for place in 0..rows.len() {
            read.rows += 1;
            let row = Row {
                customer: customers[place].clone(),
                promotion: promotions[place].clone(),
                reward: rewards[place].clone(),
                examined: seen[place].clone(),
                probability: chances[place].clone(),
            };
            let x = &features[place * recipe.dim()..(place + 1) * recipe.dim()];
            let values: Vec<Option<String>> = kept.iter().map(|texts| texts[place].clone()).collect();
            // What a row does not say leaves the digest as it was before it could be said.
            let more = row.examined.is_some().then_some(&row.examined);
            let texts = [&row.customer, &row.promotion, &row.reward, &row.probability].into_iter().chain(more);
            for text in texts.chain(&values) {
                hash.update([u8::from(text.is_some())]);
                hash.update((text.as_ref().map_or(0, String::len) as u64).to_le_bytes());
                hash.update(text.as_deref().unwrap_or(""));
            }
            x.iter().for_each(|x| hash.update(x.to_le_bytes()));
            match judged(campaign, config, &row) {
                Ok((answer, probability)) => read.take(&row, x, answer, probability, values)?,
                Err(rejection) => read.put_aside(campaign, &rows, place, &row, &rejection),
            }
        }
    }
    if read.rows == 0 {
        return Err(Error::table(table.name(), "the table has no rows"));
    }
    read.digest = Sha::finish(hash);
    Ok(read)
}

impl Read {
    fn take(
        &mut self,
        row: &Row,
        x: &[f32],
        answer: Answer,
        probability: Option<f64>,
        values: Vec<Option<String>>,
    ) -> Result<(), Error> {
        let count = self.decisions.len() + 1;
        let number = u32::try_from(count).map_err(|_| Refusal::TooManyDecisions(count as u64))?;
        let id = DecisionId { round: 0, number };
        self.decisions.push(Sent {
            id,
            customer: row.customer.clone().unwrap_or_default(),
            promotion: row.promotion.clone().unwrap_or_default(),
            hold_out: false,
            segment: None,
            mean: 0.0,
            width: 0.0,
            draw: None,
            score: 0.0,
            rank: number,
            greedy: None,
            probability: None,
            features: x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>().into(),
        });
        self.outcomes.push(Outcome { decision: id, answer: Some(answer) });
        self.originals.push(Original { decision: id, values, probability });
        Ok(())
    }

    fn put_aside(&mut self, campaign: &Campaign, rows: &Rows, place: usize, row: &Row, rejection: &Rejection) {
        *self.reasons.entry(rejection.reason()).or_default() += 1;
        let text = |text: &Option<String>| text.as_deref().map_or(Cell::Nothing, Cell::from);
        let own = [&row.customer, &row.promotion, &row.reward];
        let texts = own.into_iter().chain(self.examined.then_some(&row.examined)).chain([&row.probability]);
        let mut cells = vec![Cell::Whole(rows.line(place).cast_signed())];
        cells.extend(texts.map(text));
        cells.push(Cell::from(rejection.text(campaign.tag()).as_str()));
        self.rejects.push(cells);
    }
}

/// The answer and the probability of a row, or why it is put aside.
fn judged(campaign: &Campaign, config: &Config, row: &Row) -> Result<(Answer, Option<f64>), Rejection> {
    if row.customer.is_none() {
        return Err(Rejection::Nobody);
    }
    let promotion = row.promotion.as_deref().unwrap_or_default();
    if campaign.block(promotion).is_none() {
        return Err(Rejection::UnknownPromotion(promotion.to_owned()));
    }
    let text = row.reward.as_ref().ok_or(Rejection::MissingReward)?;
    let reward = judge::number(text)?;
    if judge::is_outside(config.reward, reward) {
        return Err(Rejection::RewardOutside(reward));
    }
    let looked_at = |text: &String| judge::chance(text, text.trim().parse().ok());
    let answer = Answer { reward, examined: row.examined.as_ref().map_or(Ok(None), looked_at)? };
    let Some(text) = &row.probability else { return Ok((answer, None)) };
    match text.trim().parse::<f64>() {
        Ok(probability) if probability > 0.0 && probability <= 1.0 => Ok((answer, Some(probability))),
        _ => Err(Rejection::BadProbability(text.clone())),
    }
}
