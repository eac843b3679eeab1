// What the demonstration computes on a GPU, as kernel.js beside it does on a process device: the great-circle distance, by how much the
// reported distance differs, the compass direction, and the hour. WGSL has no numbers of 64 bits: those of the files become f32 here.

struct Flight { difference: f32, bearing: f32, cell: u32 }

@group(0) @binding(0) var<storage, read> originLatitude: array<vec2u>;
@group(0) @binding(1) var<storage, read> originLongitude: array<vec2u>;
@group(0) @binding(2) var<storage, read> destinationLatitude: array<vec2u>;
@group(0) @binding(3) var<storage, read> destinationLongitude: array<vec2u>;
@group(0) @binding(4) var<storage, read> minute: array<i32>;
@group(0) @binding(5) var<storage, read> distance: array<i32>;
@group(0) @binding(6) var<storage, read_write> flights: array<Flight>;

const earthRadiusMiles = 3958.7613;

// A double, low word first, as a float: the sign, an exponent with another bias, and as much of the fraction as there is room for.
fn narrowed(double: vec2u) -> f32 {
  let exponent = (double.y >> 20u) & 0x7ffu;
  if (exponent == 0u) { return 0.0; }
  return bitcast<f32>((double.y & 0x80000000u) | ((exponent - 896u) << 23u) | ((double.y & 0xfffffu) << 3u) | (double.x >> 29u));
}

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= arrayLength(&flights)) { return; }
  let latitude1 = radians(narrowed(originLatitude[i]));
  let latitude2 = radians(narrowed(destinationLatitude[i]));
  let across = radians(narrowed(destinationLongitude[i]) - narrowed(originLongitude[i]));
  // The destination as seen from the origin: so far to the east, to the north, and down through the earth.
  let east = cos(latitude2) * sin(across);
  let north = cos(latitude1) * sin(latitude2) - sin(latitude1) * cos(latitude2) * cos(across);
  let along = sin(latitude1) * sin(latitude2) + cos(latitude1) * cos(latitude2) * cos(across);
  let miles = earthRadiusMiles * atan2(sqrt(east * east + north * north), along);
  let bearing = (degrees(atan2(east, north)) + 360.0) % 360.0;
  // Eight directions of 24 hours: 0 is north at midnight, 24 is north-east at midnight.
  let direction = u32((bearing + 22.5) / 45.0) % 8u;
  let hour = u32(minute[i] / 60) % 24u;
  flights[i] = Flight(f32(distance[i]) - miles, bearing, direction * 24u + hour);
}
