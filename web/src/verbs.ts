// The actions on a row of a list, chosen by its state.
import type { Act } from './action';
import { detect, pauseJobType, resumeJobType, runJobType } from './acts/jobtypes';
import { cordon, drain, removeWorker, uncordon } from './acts/workers';
import type { JobType, ListedWorker } from './types';

export const actsOnJobType = (type: JobType): Act[] => [
  runJobType(type.name, type.paused, false),
  type.paused ? resumeJobType(type.name) : pauseJobType(type.name),
  detect(type.name),
];

export function actsOnWorker(worker: ListedWorker): Act[] {
  const { id } = worker.registration;
  if (worker.state === 'OFFLINE') return [removeWorker(id)];
  return worker.mode ? [uncordon(id)] : [drain(id), cordon(id)];
}
