// Numbers and times for people.

const whole = new Intl.NumberFormat('en');

export const count = (n) => whole.format(n);

/** One of something, or several. */
export const counted = (n, one, several = `${one}s`) => `${count(n)} ${n === 1 ? one : several}`;

/** Three digits at most: 4.27, 42.7, 427. */
function digits(value) {
  if (value === 0) return '0';
  const places = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return String(Number(value.toFixed(places)));
}

/** Bytes with units of 1024, as the command line prints them. */
export function size(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return unit === 0 && bytes === 1 ? '1 byte' : `${digits(bytes)} ${units[unit]}`;
}

/** Bytes per second with units of 1000, as the command line prints them. */
export function rate(bytesPerSecond) {
  const value = bytesPerSecond / 1e6;
  return value >= 1000 ? `${digits(value / 1000)} GB/s` : value < 0.01 && value > 0 ? '< 0.01 MB/s' : `${digits(value)} MB/s`;
}

/** Events per second. */
export const perSecond = (n) => `${n > 0 && n < 0.01 ? '< 0.01' : digits(n)}/s`;

/** A span of seconds: 12.3 ms, 4.2 s, 3 min. */
export function span(seconds) {
  if (seconds < 1e-6) return `${digits(seconds * 1e9)} ns`;
  if (seconds < 1e-3) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 1) return `${digits(seconds * 1e3)} ms`;
  if (seconds < 120) return `${digits(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const percent = (part) => `${part > 0 && part < 0.001 ? '< 0.1' : digits(part * 100)} %`;

const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

/** A time in milliseconds since 1970. */
export const date = (ms) => (ms ? moment.format(ms) : '');
