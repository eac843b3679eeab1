// What the demonstration computes for each of three million flights, from where it began and ended:
// the great-circle distance, by how much the reported distance differs, the compass direction, and
// the hour.
//
// Try it on files of your own:
//   onemem run examples/flights/kernel.js --in originLatitude=... --out difference=... --device process --device-memory 32MiB

export default {
  params: {
    originLatitude: 'f64.in',
    originLongitude: 'f64.in',
    destinationLatitude: 'f64.in',
    destinationLongitude: 'f64.in',
    minute: 'i32.in',
    distance: 'i32.in',
    difference: 'f32.out',
    bearing: 'f32.out',
    cell: 'u16.out',
  },

  kernel(
    {
      originLatitude,
      originLongitude,
      destinationLatitude,
      destinationLongitude,
      minute,
      distance,
      difference,
      bearing,
      cell,
    },
    { begin, end },
  ) {
    const radians = Math.PI / 180;
    const earthRadiusMiles = 3958.7613;
    for (let i = begin; i < end; i++) {
      const latitude1 = originLatitude[i] * radians;
      const latitude2 = destinationLatitude[i] * radians;
      const across = (destinationLongitude[i] - originLongitude[i]) * radians;
      const sin1 = Math.sin(latitude1);
      const cos1 = Math.cos(latitude1);
      const sin2 = Math.sin(latitude2);
      const cos2 = Math.cos(latitude2);
      const cosAcross = Math.cos(across);
      // The destination as seen from the origin: so far to the east, to the north, and down through
      // the earth.
      const east = cos2 * Math.sin(across);
      const north = cos1 * sin2 - sin1 * cos2 * cosAcross;
      const along = sin1 * sin2 + cos1 * cos2 * cosAcross;
      const miles = earthRadiusMiles * Math.atan2(Math.sqrt(east * east + north * north), along);
      const degrees = (Math.atan2(east, north) / radians + 360) % 360;
      difference[i] = distance[i] - miles;
      bearing[i] = degrees;
      // Eight directions of 24 hours: 0 is north at midnight, 24 is north-east at midnight.
      const direction = Math.floor((degrees + 22.5) / 45) % 8;
      const hour = Math.floor(minute[i] / 60) % 24;
      cell[i] = direction * 24 + hour;
    }
  },
};
