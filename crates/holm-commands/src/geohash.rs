//! Places on the earth as scores of sorted sets: 26 bits of latitude and of longitude, interleaved.
//!
//! Neighbouring places have neighbouring scores, except across the borders of cells. So an area is a few ranges of
//! scores; `cover` finds them by dividing cells until they are inside, outside, or small enough.

/// The bits of each coordinate.
const STEPS: u32 = 26;
const LONGITUDES: (f64, f64) = (-180.0, 180.0);
/// The latitudes that the projection of the common web maps shows.
const LATITUDES: (f64, f64) = (-85.051_128_78, 85.051_128_78);
const EARTH_RADIUS: f64 = 6_372_797.560_856;
/// How many ranges an area has at most, more or less: more are more exact, and each is a scan.
const MOST_RANGES: usize = 32;

/// A place: longitude and latitude in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) longitude: f64,
    pub(crate) latitude: f64,
}

/// A part of the earth between meridians and parallels. The west may be east of the east: then the part goes over the
/// meridian of 180 degrees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) west: f64,
    pub(crate) east: f64,
    pub(crate) south: f64,
    pub(crate) north: f64,
}

impl Place {
    /// Returns the place, unless it lies beyond what scores can express.
    pub(crate) fn new(longitude: f64, latitude: f64) -> Option<Self> {
        let is_within = |value: f64, (least, most): (f64, f64)| value >= least && value <= most;
        let is_place = is_within(longitude, LONGITUDES) && is_within(latitude, LATITUDES);
        is_place.then_some(Place { longitude, latitude })
    }

    /// Returns the score of the place.
    pub(crate) fn score(self) -> u64 {
        interleave(offset(self.latitude, LATITUDES), offset(self.longitude, LONGITUDES))
    }

    /// Returns the middle of the cell of a score.
    pub(crate) fn of_score(score: f64) -> Self {
        let bits = score as u64;
        let middle = |bits: u64, (least, most): (f64, f64)| {
            // As Redis computes it, to the last digit.
            let edge = |bits: u64| least + bits as f64 / (1u64 << STEPS) as f64 * (most - least);
            ((edge(bits) + edge(bits + 1)) / 2.0).clamp(least, most)
        };
        Place {
            longitude: middle(every_second(bits >> 1), LONGITUDES),
            latitude: middle(every_second(bits), LATITUDES),
        }
    }

    /// Returns the distance in metres, along a great circle.
    pub(crate) fn distance(self, other: Place) -> f64 {
        let (one, two) = (self.latitude.to_radians(), other.latitude.to_radians());
        let half_longitude = ((other.longitude - self.longitude).to_radians() / 2.0).sin();
        let half_latitude = ((two - one) / 2.0).sin();
        if half_longitude == 0.0 {
            return EARTH_RADIUS * (two - one).abs();
        }
        let square = half_latitude * half_latitude + one.cos() * two.cos() * half_longitude * half_longitude;
        2.0 * EARTH_RADIUS * square.sqrt().min(1.0).asin()
    }

    /// Returns the eleven letters of the geohash that is known elsewhere. Its latitudes go to the poles.
    pub(crate) fn letters(self) -> String {
        const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
        let bits = interleave(offset(self.latitude, (-90.0, 90.0)), offset(self.longitude, LONGITUDES));
        let letter = |index: u32| match (2 * STEPS).checked_sub(5 * (index + 1)) {
            Some(shift) => ALPHABET[(bits >> shift & 31) as usize] as char,
            // Two bits are left for the last letter, which is none of their value.
            None => '0',
        };
        (0..11).map(letter).collect()
    }

    /// Returns the smallest part that holds all places up to some metres away.
    pub(crate) fn around(self, metres: f64) -> Part {
        self.part(metres, (metres / EARTH_RADIUS).min(std::f64::consts::PI))
    }

    /// Returns a part that holds a box around the place. The box is as wide as stated at each latitude of its own.
    pub(crate) fn box_around(self, width: f64, height: f64) -> Part {
        let across = (width / 2.0 / EARTH_RADIUS).min(std::f64::consts::PI);
        let mut part = self.part(height / 2.0, across);
        let widest = part.south.abs().max(part.north.abs()).min(90.0).to_radians().cos();
        let half = (across / 2.0).sin() / widest;
        let turn = if half < 1.0 { 2.0 * half.asin().to_degrees() } else { 180.0 };
        (part.west, part.east) = meridians(self.longitude, turn);
        part
    }

    fn part(self, metres_north: f64, angle: f64) -> Part {
        let rise = (metres_north / EARTH_RADIUS).to_degrees() + MARGIN;
        let (south, north) = (self.latitude - rise, self.latitude + rise);
        let reach = angle.sin() / self.latitude.to_radians().cos();
        let holds_pole = north >= 90.0 || south <= -90.0 || angle >= std::f64::consts::FRAC_PI_2 || reach >= 1.0;
        let (west, east) = meridians(self.longitude, if holds_pole { 180.0 } else { reach.asin().to_degrees() });
        Part { west, east, south, north }
    }
}

/// Degrees that are added to each side, for rounding.
const MARGIN: f64 = 1e-5;

fn meridians(longitude: f64, turn: f64) -> (f64, f64) {
    let turn = turn + MARGIN;
    if turn >= 180.0 {
        return LONGITUDES;
    }
    let wrap = |degrees: f64| (degrees + 180.0).rem_euclid(360.0) - 180.0;
    (wrap(longitude - turn), wrap(longitude + turn))
}

/// A square of the earth: the first bits of both coordinates.
#[derive(Clone, Copy)]
struct Cell {
    steps: u32,
    longitude: u64,
    latitude: u64,
}

impl Cell {
    fn span(bits: u64, steps: u32, (least, most): (f64, f64)) -> (f64, f64) {
        let size = (most - least) / (1u64 << steps) as f64;
        (least + size * bits as f64, least + size * (bits + 1) as f64)
    }

    /// Returns whether the cell touches a part, and whether it lies within it.
    fn against(self, part: &Part) -> (bool, bool) {
        let (south, north) = Cell::span(self.latitude, self.steps, LATITUDES);
        let (west, east) = Cell::span(self.longitude, self.steps, LONGITUDES);
        let (touches, lies) = if part.west <= part.east {
            (west <= part.east && east >= part.west, west >= part.west && east <= part.east)
        } else {
            (west <= part.east || east >= part.west, east <= part.east || west >= part.west)
        };
        (touches && south <= part.north && north >= part.south, lies && south >= part.south && north <= part.north)
    }

    /// The scores of the cell, the last one included.
    fn scores(self) -> (u64, u64) {
        let shift = 2 * (STEPS - self.steps);
        let first = interleave(self.latitude, self.longitude) << shift;
        (first, first + ((1 << shift) - 1))
    }

    fn quarters(self) -> impl Iterator<Item = Cell> {
        let Cell { steps, longitude, latitude } = self;
        [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().map(move |(east, north)| Cell {
            steps: steps + 1,
            longitude: longitude << 1 | east,
            latitude: latitude << 1 | north,
        })
    }
}

/// Returns ranges of scores, in order, that hold all places of a part; both ends are included.
pub(crate) fn cover(part: &Part) -> Vec<(u64, u64)> {
    let mut whole = Vec::new();
    let mut border = vec![Cell { steps: 0, longitude: 0, latitude: 0 }];
    for _ in 0..STEPS {
        let quarters: Vec<_> = border.iter().copied().flat_map(Cell::quarters).collect();
        let touching: Vec<_> = quarters.into_iter().filter(|cell| cell.against(part).0).collect();
        if touching.len() + whole.len() > MOST_RANGES {
            break;
        }
        let (inside, rest): (Vec<_>, Vec<_>) = touching.into_iter().partition(|cell| cell.against(part).1);
        whole.extend(inside);
        border = rest;
    }
    let mut ranges: Vec<_> = whole.into_iter().chain(border).map(Cell::scores).collect();
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let follows = next.0 == last.1 + 1;
        if follows {
            last.1 = next.1;
        }
        follows
    });
    ranges
}

/// Returns in which of the cells between two bounds a coordinate lies.
fn offset(value: f64, (least, most): (f64, f64)) -> u64 {
    let cells = (1u64 << STEPS) as f64;
    ((value - least) / (most - least) * cells).clamp(0.0, cells - 1.0) as u64
}

/// Gives the bits of two numbers alternate places, those of the first the even ones.
fn interleave(even: u64, odd: u64) -> u64 {
    (0..STEPS).fold(0, |bits, at| bits | (even >> at & 1) << (2 * at) | (odd >> at & 1) << (2 * at + 1))
}

/// Returns every second bit of a number, from the first on.
fn every_second(bits: u64) -> u64 {
    (0..STEPS).fold(0, |found, at| found | (bits >> (2 * at) & 1) << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(longitude: f64, latitude: f64) -> Place {
        Place::new(longitude, latitude).unwrap()
    }

    #[test]
    fn a_score_leads_back_to_the_place() {
        for (longitude, latitude) in [(13.361389, 38.115556), (-180.0, -85.05), (180.0, 85.05), (0.0, 0.0)] {
            let before = place(longitude, latitude);
            let after = Place::of_score(before.score() as f64);
            assert!(before.distance(after) < 0.7, "{before:?} {after:?}");
        }
        assert_eq!(Place::new(181.0, 0.0), None);
        assert_eq!(Place::new(0.0, 86.0), None);
    }

    #[test]
    fn known_scores_letters_and_distances_come_out() {
        let (palermo, catania) = (place(13.361389, 38.115556), place(15.087269, 37.502669));
        assert_eq!(palermo.score(), 3_479_099_956_230_698);
        assert_eq!(palermo.letters(), "sqc8b49rny0");
        assert_eq!(catania.letters(), "sqdtr74hyu0");
        let (one, other) = (Place::of_score(palermo.score() as f64), Place::of_score(catania.score() as f64));
        assert!((one.distance(other) - 166_274.151_6).abs() < 1e-3, "{}", one.distance(other));
    }

    #[test]
    fn a_cover_has_every_place_that_is_near_enough() {
        // A grid of places against circles and boxes, over the meridian of 180 degrees and near the poles too.
        let centres = [(0.0, 0.0), (179.99, 10.0), (-179.5, -60.0), (13.4, 52.5), (100.0, 84.9), (-20.0, -85.0)];
        for (longitude, latitude) in centres {
            let centre = place(longitude, latitude);
            for metres in [1.0, 500.0, 30_000.0, 2_000_000.0, 9_000_000.0, 21_000_000.0] {
                let ranges = cover(&centre.around(metres));
                let tall = cover(&centre.box_around(metres, 2.0 * metres));
                for step in 0..3_000u32 {
                    // A spiral around the centre, up to three times as far as the circle.
                    let (turn, far) = (f64::from(step) * 2.4, f64::from(step) / 1_000.0 * metres / 111_000.0);
                    let latitude = (centre.latitude + far * turn.sin()).clamp(-85.0, 85.0);
                    let longitude = centre.longitude + far * turn.cos() / latitude.to_radians().cos();
                    let other = place((longitude + 180.0).rem_euclid(360.0) - 180.0, latitude);
                    let score = other.score();
                    let is_in =
                        |ranges: &[(u64, u64)]| ranges.iter().any(|(low, high)| (*low..=*high).contains(&score));
                    assert!(centre.distance(other) > metres || is_in(&ranges), "{centre:?} {metres} {other:?}");
                    let level = Place { longitude: centre.longitude, ..other };
                    let is_in_box = level.distance(other) <= metres / 2.0 && level.distance(centre) <= metres;
                    assert!(!is_in_box || is_in(&tall), "{centre:?} {metres} {other:?}");
                }
                assert!(ranges.len() <= MOST_RANGES);
            }
        }
    }
}
