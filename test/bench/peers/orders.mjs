// What every system is given to do.

export const ORDER = { order: 12345, customer: 'someone@example.com', items: [1, 2, 3], express: false };

const WIDTH = 64;

// `count` operations, some at a time.
export async function forEachOf(count, operation) {
  let next = 0;
  const lane = async () => {
    while (next < count) await operation(next++);
  };
  await Promise.all(Array.from({ length: Math.min(WIDTH, count) }, lane));
  return { count };
}
