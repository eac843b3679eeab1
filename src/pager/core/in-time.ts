/** What a promise gives; rejects with `late` where that takes longer than so many milliseconds. */
export async function inTime<T>(promise: Promise<T>, limitMs: number, late: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late), limitMs);
  });
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
  }
}
