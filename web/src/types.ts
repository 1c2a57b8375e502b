// Types of the API's answers, under the pages' names. Each build generates openapi.d.ts from docs/openapi.yaml, so a
// page that reads an unknown field does not compile.
import type { components } from './openapi';

type Schemas = components['schemas'];

// Filled is an answer whose lists are never null, since the API writes an empty list as [].
type Filled<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };

export type RunRef = Schemas['RunRef'];
export type Holds = Schemas['HeldList'];
export type Calendar = Schemas['Calendar'];
export type JobType = Schemas['ListedJobType'];
export type ShownJobType = Filled<Schemas['ShownJobType'], 'runs'>;
export type JobTypeList = Filled<Schemas['JobTypeList'], 'job_types'>;
export type ListedWorker = Schemas['ListedWorker'];
export type Worker = Schemas['ShownWorker'];
export type MayReboot = Filled<Schemas['Reboot'], 'attempts' | 'alone'>;
export type Usage = Filled<Schemas['WorkerUsage'], 'spans'>;
export type WorkerList = Filled<Schemas['WorkerList'], 'workers'>;
export type Use = Schemas['AdmissionUse'];
export type Lane = Schemas['AdmissionLane'];
export type LaneList = Filled<Schemas['LaneList'], 'lanes'>;
export type Pool = Schemas['AdmissionPool'];
export type PoolList = Filled<Schemas['PoolList'], 'pools'>;
export type Thing = Schemas['AdmissionThing'];
export type ThingList = Filled<Schemas['ObjectList'], 'objects'>;
export type PastGrant = Schemas['PastGrant'];
export type PastGrantList = Filled<Schemas['PastGrantList'], 'grants'>;
export type Reason = Schemas['ExplainReason'];
export type Remedy = Schemas['Action'];
export type Needs = Filled<Schemas['Needs'], 'needs'>;
export type Explanation = Schemas['Explanation'];
export type Doctor = Filled<Schemas['Doctor'], 'checks'>;
export type AuditEntry = Schemas['RecordedEntry'];
export type AuditList = Filled<Schemas['AuditList'], 'entries'>;
export type Day = Schemas['Day'];
export type ForecastTick = Schemas['ForecastTick'];
export type LedgerTick = Schemas['LedgerTick'];
export type Forecast = Filled<Schemas['Forecast'], 'ticks' | 'job_types'>;
export type Ledger = Filled<Schemas['Ledger'], 'ticks'>;
export type Night = Filled<Schemas['Night'], 'rows'>;
export type NightBar = Schemas['NightBar'];
export type RunTimes = Omit<Schemas['RunTimes'], 'bars'> & { bars: Filled<Schemas['ItemBars'], 'id' | 'states' | 'workers' | 'state' | 'worker' | 'attempt' | 'from_ms' | 'took_ms'> };
export type WorkerTimes = Filled<Schemas['WorkerTimes'], 'work'>;
export type RunStrips = Filled<Schemas['RunStrips'], 'strips'>;
export type PastRun = Schemas['PastRun'];
export type RunHistory = Filled<Schemas['RunHistory'], 'runs' | 'limits' | 'changes' | 'values'>;
export type Handler = Schemas['Descriptor'];
export type HandlerList = Filled<Schemas['HandlerList'], 'handlers'>;
export type Me = Filled<Schemas['Me'], 'grants'>;
export type Version = Schemas['Version'];
export type Run = Schemas['Run'];
export type RunList = Schemas['RunList'];
export type Snapshot = Schemas['Snapshot'];
export type Item = Schemas['Item'];
export type FoundItems = Filled<Schemas['FoundItems'], 'items'>;
export type ItemDetail = Schemas['ItemDetail'];
export type Printed = Schemas['Part'];
export type Artifact = Schemas['Artifact'];
export type Artifacts = Schemas['Artifacts'];
export type Box = Schemas['Box'];
export type Found = Schemas['FoundTask'];
export type Drawing = Filled<Schemas['Drawing'], 'boxes' | 'edges'>;
export type RunGraph = Filled<Omit<Schemas['RunGraph'], 'drawing'>, 'states' | 'roles'> & { drawing?: Drawing };
export type RunMap = Filled<Schemas['RunMap'], 'states' | 'roles'>;
export type Cause = Filled<Schemas['Cause'], 'workers' | 'items'>;
export type RunFailures = Omit<Schemas['RunFailures'], 'causes'> & { causes: Cause[] };
export type RetryPreview = Schemas['RetryPreview'];
export type Plan = Schemas['Planned'];
export type PlannedChange = Schemas['PlannedChange'];
export type Change = Schemas['Change'];
export type Applied = Schemas['Applied'];
export type JobTypeSettings = Omit<Schemas['JobTypeSettings'], 'settings' | 'schema' | 'next'> & { settings: Record<string, unknown>; schema: Schema; next: Instant[] };
export type SettingsSet = Filled<Schemas['SettingsSet'], 'changed' | 'next' | 'warnings'>;
export type Instant = Schemas['Instant'];
export type FieldChange = Schemas['FieldChange'];
export type InForce = Filled<Schemas['InForce'], 'owners' | 'job_types'>;
export type Schemata = { configuration: Schema; dag: Schema };
export type Key = Schemas['Key'];
export type KeyList = Filled<Schemas['KeyList'], 'keys'>;
export type CreatedKey = Schemas['CreatedKey'];
export type Access = Filled<Schemas['Access'], 'roles' | 'bindings' | 'grants'>;
export type Detecting = Schemas['Detecting'];
export type SubmittedJobs = Schemas['SubmittedJobs'];
export type RemovedWorkers = Schemas['RemovedWorkers'];
export type Backfilled = Schemas['Backfilled'];
export type Requested = Schemas['Requested'];

// Schema is the part of JSON Schema for forms. It is the handler's own and passed unchanged by the API.
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  additionalProperties?: boolean | Schema;
  $ref?: string;
  $defs?: Record<string, Schema>;
}
