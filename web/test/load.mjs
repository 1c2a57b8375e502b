// A load: processes that only compute, besides all else that runs.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';

// burn starts processes and returns a function that ends them.
export function burn(n) {
  const all = Array.from({ length: n }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  return () => Promise.all(all.map((one) => new Promise((resolve) => {
    one.once('exit', resolve);
    one.kill('SIGKILL');
  })));
}

// runnable is the number of threads that run or could, now.
export const runnable = () => Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[3].split('/')[0]);

export const loaded = () => `a load of ${loadavg()[0].toFixed(0)} on ${availableParallelism()} cores`;
