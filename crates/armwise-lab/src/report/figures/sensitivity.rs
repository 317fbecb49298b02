//! Figure 7: mean cumulative reward over lambda and alpha or v.
//!
//! All maps of one problem share their colours, so algorithms can be compared across maps.

use super::{Figure, TITLES, angle_of, both, data_line, generated_note, symbol, trials};
use crate::report::looks::title_of;
use crate::results::{HeatMap, Results};
use armwise_charts::{Heat, Scene, TITLE, Text, WIDE, compact, escape, grid, heat_key, number, percent, write};

/// The maps of one problem.
struct Group<'a> {
    title: String,
    maps: Vec<&'a HeatMap>,
    data: Option<&'a crate::results::Data>,
}

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    if let Some(clustered) = &results.clustered {
        let title = format!("Clustered case at {}", angle_of(std::f64::consts::FRAC_PI_2));
        groups.push(Group { title, maps: sound(&clustered.sensitivity), data: None });
    }
    if let Some(promotions) = &results.promotions {
        let title = format!("Sending promotions, {}", promotions.sensitivity_of);
        groups.push(Group { title, maps: sound(&promotions.sensitivity), data: Some(&promotions.data) });
    }
    groups.retain(|group| !group.maps.is_empty());
    if groups.is_empty() {
        return None;
    }
    let (wide, narrow) = both(|width| scene(&groups, width));
    Some(Figure {
        number: 7,
        title: TITLES[6].to_owned(),
        caption: caption(&groups),
        alt: "Heat maps of mean cumulative reward with λ down and α or v across, one per algorithm, every cell with its value; the best cell of each is framed.".to_owned(),
        wide,
        narrow,
        numbers: String::new(),
    })
}

/// The maps that have a value in every cell.
fn sound(maps: &[HeatMap]) -> Vec<&HeatMap> {
    let whole = |map: &&HeatMap| {
        !map.values.is_empty()
            && !map.lambda.is_empty()
            && map.reward.len() == map.lambda.len()
            && map.reward.iter().all(|row| row.len() == map.values.len())
    };
    maps.iter().filter(whole).collect()
}

fn range(maps: &[&HeatMap]) -> (f64, f64) {
    let values = maps.iter().flat_map(|map| map.reward.iter().flatten()).copied().filter(|value| value.is_finite());
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn heat_of(map: &HeatMap, range: (f64, f64)) -> Heat {
    Heat {
        title: title_of(&map.algorithm),
        row_title: "λ".to_owned(),
        column_title: symbol(&map.algorithm, &map.parameter).to_owned(),
        rows: map.lambda.iter().map(|&value| compact(value)).collect(),
        columns: map.values.iter().map(|&value| compact(value)).collect(),
        cells: map.reward.iter().map(|row| row.iter().map(|&value| (value, number(value, 0))).collect()).collect(),
        range,
    }
}

fn scene(groups: &[Group<'_>], width: f64) -> Scene {
    let mut scene = Scene::new(width, 0.0);
    let mut top = 0.0;
    for group in groups {
        let range = range(&group.maps);
        if top > 0.0 {
            top += 18.0;
        }
        scene.text(Text::new((0.0, top + 15.0), group.title.as_str()).size(TITLE + 1.0).bold(true));
        top += 26.0;
        if let Some(data) = group.data {
            top = data_line(&mut scene, data, top - 4.0);
        }
        heat_key(&mut scene, 0.0, top, &format!("Mean cumulative reward {}", number(range.0, 0)), &number(range.1, 0));
        top += 28.0;
        let heats: Vec<Heat> = group.maps.iter().map(|map| heat_of(map, range)).collect();
        let height = heats.iter().map(Heat::height).fold(0.0, f64::max);
        let (areas, end) = grid(heats.len(), if width < WIDE { 1 } else { 2 }, width, top, height);
        for (heat, area) in heats.iter().zip(areas) {
            heat.draw(&mut scene, area.left, area.top, area.width);
        }
        top = end;
    }
    scene.height = top;
    scene
}

fn caption(groups: &[Group<'_>]) -> String {
    let mut text = "Mean cumulative reward of every setting on the tuning grid; lighter is more, the best setting of each algorithm is framed, and the maps of one problem share their colours. ".to_owned();
    for group in groups {
        let count = group.maps.iter().map(|map| map.trials).max().unwrap_or(0);
        let parts: Vec<String> = group.maps.iter().filter_map(|map| best(map)).collect();
        write(
            &mut text,
            format_args!("<b>{}</b> ({}): {}. ", escape(&group.title), trials(count), escape(&parts.join("; "))),
        );
        if let Some(data) = group.data {
            text.push_str(generated_note(data).trim_start());
        }
    }
    text
}

/// `C²UCB best 368 at λ = 1, α = 0.1, 12 of 25 settings within 5%`.
fn best(map: &HeatMap) -> Option<String> {
    let heat = heat_of(map, (0.0, 1.0));
    let (row, column) = heat.best()?;
    let top = map.reward[row][column];
    let near = map.reward.iter().flatten().filter(|&&value| value >= top - 0.05 * top.abs()).count();
    Some(format!(
        "{} best {} at λ = {}, {} = {}, {near} of {} settings within {} of it",
        title_of(&map.algorithm),
        number(top, 0),
        compact(map.lambda[row]),
        symbol(&map.algorithm, &map.parameter),
        compact(map.values[column]),
        map.lambda.len() * map.values.len(),
        percent(0.05, 0)
    ))
}
