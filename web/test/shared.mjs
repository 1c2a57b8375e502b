// A stage for files that use one after another: printed when it is up, it ends with the standard input.
import { Stage } from './stage.mjs';

const stage = await Stage.up();
process.stdin.resume().on('end', () => stage.down());
console.log(stage.given());
