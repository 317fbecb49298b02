//! What the operator's page needs of the server's metrics, read from the text that Prometheus gets, so that both say the
//! same.

use std::collections::BTreeMap;

/// The labels of a series, by name.
pub(super) type Labels = BTreeMap<String, String>;

/// A histogram: how many observations were at most so large.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Buckets {
    /// Upper ends with the number of observations up to there, ascending; the last end is infinite.
    ends: Vec<(f64, f64)>,
    sum: f64,
}

/// All counters, gauges and histograms at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Metrics {
    values: BTreeMap<(String, Labels), f64>,
    histograms: BTreeMap<(String, Labels), Buckets>,
}

impl Metrics {
    /// Reads OpenMetrics text; lines that are no samples are passed over.
    pub(super) fn read(text: &str) -> Self {
        let mut metrics = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, mut labels, value)) = sample(line) else { continue };
            if let (Some(name), Some(end)) = (name.strip_suffix("_bucket"), labels.remove("le")) {
                let end = if end == "+Inf" { f64::INFINITY } else { end.parse().unwrap_or(f64::INFINITY) };
                metrics.histograms.entry((name.to_owned(), labels)).or_default().ends.push((end, value));
            } else if let Some(own) = name.strip_suffix("_sum") {
                metrics.histograms.entry((own.to_owned(), labels)).or_default().sum = value;
            } else {
                metrics.values.insert((name, labels), value);
            }
        }
        for histogram in metrics.histograms.values_mut() {
            histogram.ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        metrics.histograms.retain(|_, histogram| !histogram.ends.is_empty());
        metrics
    }

    /// What was added since an earlier moment; gauges stay as they are.
    pub(super) fn since(&self, before: &Self) -> Self {
        let mut new = self.clone();
        for (key, histogram) in &mut new.histograms {
            let Some(old) = before.histograms.get(key).filter(|old| old.ends.len() == histogram.ends.len()) else {
                continue;
            };
            histogram.ends.iter_mut().zip(&old.ends).for_each(|(own, old)| own.1 -= old.1);
            histogram.sum -= old.sum;
        }
        for (key, value) in new.values.iter_mut().filter(|((name, _), _)| name.ends_with("_total")) {
            *value -= before.values.get(key).unwrap_or(&0.0);
        }
        new
    }

    /// The histograms of this name that have observations.
    pub(super) fn histograms<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Labels, &'a Buckets)> {
        let own = self.histograms.iter().filter(move |((of, _), histogram)| of == name && histogram.count() > 0.0);
        own.map(|((_, labels), histogram)| (labels, histogram))
    }

    /// The names of all histograms.
    pub(super) fn histogram_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.histograms.keys().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        names
    }

    /// The counters and gauges of this name.
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Labels, f64)> {
        self.values.iter().filter(move |((of, _), _)| of == name).map(|((_, labels), value)| (labels, *value))
    }
}

impl Buckets {
    /// How many observations.
    pub(super) fn count(&self) -> f64 {
        self.ends.last().map_or(0.0, |end| end.1)
    }

    /// The mean.
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count().max(1.0)
    }

    /// A quantile, interpolated within its bucket; none beyond the last finite end.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count();
        let (mut low, mut below) = (0.0, 0.0);
        for &(end, up_to) in &self.ends {
            if up_to >= wanted && up_to > below {
                return end
                    .is_finite()
                    .then(|| low + (end - low) * ((wanted - below) / (up_to - below)).clamp(0.0, 1.0));
            }
            (low, below) = (end, up_to);
        }
        None
    }

    /// Both together, where they have the same buckets.
    pub(super) fn with(mut self, other: &Self) -> Self {
        if self.ends.is_empty() {
            return other.clone();
        }
        self.ends.iter_mut().zip(&other.ends).for_each(|(own, other)| own.1 += other.1);
        self.sum += other.sum;
        self
    }
}

/// `name{label="value",...} 12.5`
fn sample(line: &str) -> Option<(String, Labels, f64)> {
    let (head, rest) = match line.find('{') {
        Some(open) => {
            let close = open + end_of_labels(&line[open..])?;
            (&line[..open], (&line[open + 1..close], &line[close + 1..]))
        }
        None => line.split_once(' ').map(|(name, value)| (name, ("", value)))?,
    };
    let (labels, value) = rest;
    let value = value.split_whitespace().next()?.parse().ok()?;
    Some((head.to_owned(), read_labels(labels), value))
}

/// Where the brace that ends the labels is: not one inside quotes.
fn end_of_labels(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (place, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(place),
            _ => {}
        }
    }
    None
}

fn read_labels(text: &str) -> Labels {
    let mut labels = Labels::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once("=\"") {
        let (mut value, mut escaped, mut end) = (String::new(), false, after.len());
        for (place, letter) in after.char_indices() {
            match letter {
                'n' if escaped => value.push('\n'),
                _ if escaped => value.push(letter),
                '\\' => {}
                '"' => {
                    end = place;
                    break;
                }
                _ => value.push(letter),
            }
            escaped = letter == '\\' && !escaped;
        }
        labels.insert(name.trim_start_matches(',').to_owned(), value);
        rest = after.get(end + 1..).unwrap_or("");
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# HELP x y\nrequests_total{route=\"/a\\\"}\",status=\"200\"} 7\n\
        seconds_sum{route=\"/a\"} 1.5\nseconds_count{route=\"/a\"} 10\nseconds_bucket{le=\"0.1\",route=\"/a\"} 5\n\
        seconds_bucket{le=\"0.2\",route=\"/a\"} 9\nseconds_bucket{le=\"+Inf\",route=\"/a\"} 10\ndepth 3\n# EOF\n";

    #[test]
    fn text_is_read_with_labels_that_hold_quotes_and_braces() {
        let metrics = Metrics::read(TEXT);
        let (labels, value) = metrics.values("requests_total").next().expect("a counter");
        assert_eq!((labels["route"].as_str(), labels["status"].as_str()), ("/a\"}", "200"));
        assert!((value - 7.0).abs() < 1e-12);
        assert!((metrics.values("depth").next().expect("a gauge").1 - 3.0).abs() < 1e-12);
        assert_eq!(metrics.histogram_names(), ["seconds"]);
    }

    #[test]
    fn quantiles_lie_within_their_buckets() {
        let metrics = Metrics::read(TEXT);
        let (_, seconds) = metrics.histograms("seconds").next().expect("a histogram");
        let close = |share: f64, value: f64| (seconds.quantile(share).expect("a quantile") - value).abs() < 1e-12;
        assert!(close(0.5, 0.1) && close(0.7, 0.15) && close(0.9, 0.2));
        assert_eq!(seconds.quantile(0.99), None, "somewhere above the last end");
        assert!((seconds.mean() - 0.15).abs() < 1e-12);
        let none = metrics.since(&metrics);
        assert!(
            none.histograms("seconds").next().is_none() && none.values("requests_total").all(|(_, value)| value == 0.0)
        );
    }
}
