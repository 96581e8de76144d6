// Latencies, and the load that makes them: so many operations under way, the next begins when one ends.

import { setTimeout as sleep } from 'node:timers/promises';

export function quantile(sorted, q) {
  return sorted.length ? sorted[Math.min(Math.floor(q * sorted.length), sorted.length - 1)] : 0;
}

export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { count: sorted.length, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), worst: sorted.at(-1) ?? 0 };
}

export function median(values) {
  return quantile([...values].sort((a, b) => a - b), 0.5);
}

// `warmUp` seconds first; then `onMeasuring`, and `seconds` that count.
export async function closedLoop({ width, warmUp, seconds, operation, onMeasuring }) {
  const took = [];
  let [isMeasuring, isOver, index] = [false, false, 0];
  const lane = async () => {
    while (!isOver) {
      const begin = performance.now();
      await operation(index++);
      if (isMeasuring) took.push(performance.now() - begin);
    }
  };
  const lanes = Promise.all(Array.from({ length: width }, lane));
  await Promise.race([lanes, sleep(warmUp * 1000)]); // lanes end early only by an error
  await onMeasuring();
  isMeasuring = true;
  const begin = performance.now();
  await Promise.race([lanes, sleep(seconds * 1000)]);
  isMeasuring = false;
  const elapsed = (performance.now() - begin) / 1000;
  isOver = true;
  const finish = () => lanes;
  return { ...summary(took), seconds: elapsed, finish };
}

// How late things were that should have happened at a known time, noted where they happen.
export class Lateness {
  values = [];

  note(dueMs) {
    this.values.push(Date.now() - dueMs);
    if (this.values.length === this.wanted) this.reached();
  }

  // From now on.
  clear() {
    this.values = [];
    return {};
  }

  async await({ count }) {
    if (this.values.length < count) {
      this.wanted = count;
      await new Promise((resolve) => (this.reached = resolve));
    }
    return summary(this.values);
  }

  read() {
    return summary(this.values);
  }

  get answers() {
    return { clear: () => this.clear(), await: (m) => this.await(m), read: () => this.read() };
  }
}
