// Client of the REST API. Addresses are relative to the page, so that a proxy may mount the console
// anywhere.
import { heard } from './clock';
import { connection, login } from './connection';

export const base = new URL('api/v1', document.baseURI).pathname;

export interface Fault {
  message: string;
  location?: string;
  file?: string;
  line?: number;
  column?: number;
}

// Problem is a refused request as in RFC 9457.
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly remedy = '',
    readonly errors: Fault[] = [],
    readonly unreachable = false,
    // retryable: the same request may succeed later.
    readonly retryable = unreachable,
  ) {
    super(message);
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Request {
  method: Method;
  // path below /api/v1, beginning with /.
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export async function send<T>(request: Request, signal?: AbortSignal): Promise<T> {
  return (await sendTagged<T>(request, signal)).answer;
}

// sendTagged also returns the ETag of the answer, without quotes.
export async function sendTagged<T>(request: Request, signal?: AbortSignal): Promise<{ answer: T; tag: string }> {
  let response: Response;
  // The audit log has the console as the interface of its requests.
  const headers: Record<string, string> = { Accept: 'application/json', 'X-Roundsman-Via': 'console', ...request.headers };
  const init: RequestInit = { method: request.method, headers };
  if (signal) init.signal = signal;
  if (request.method !== 'GET') {
    headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(request.body ?? {});
  }
  const sent = Date.now();
  try {
    response = await fetch(base + request.path, init);
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw unreachable();
  }
  heard(response.headers.get('Date'), sent);
  const text = await response.text();
  connection.found('plane');
  if (response.ok) {
    return { answer: (text === '' ? undefined : JSON.parse(text)) as T, tag: (response.headers.get('ETag') ?? '').replaceAll('"', '') };
  }
  throw problemOf(response.status, text);
}

// unreachable is the problem of a control plane without an answer.
export function unreachable(): Problem {
  const why = 'The control plane does not answer.';
  connection.lost('plane', why);
  return new Problem(0, 'UNREACHABLE', why, 'The console tries again by itself.', [], false, true);
}

// Written is a problem in the API's form.
export interface Written {
  status?: number;
  code?: string;
  detail?: string;
  title?: string;
  remedy?: string;
  errors?: Fault[];
  unreachable?: boolean;
  retryable?: boolean;
}

// away replaces the reason of Temporal's client, which is an error of Go.
const away = "Temporal's server does not answer the control plane.";

export const problemOfJSON = (p: Written, status = p.status ?? 0) =>
  new Problem(status, p.code ?? `HTTP_${status}`, p.unreachable ? away : (p.detail ?? p.title ?? 'The server gave no reason.'), p.remedy, p.errors, p.unreachable, p.retryable);

export function problemOf(status: number, text: string): Problem {
  if (status === 401) login.set(true);
  try {
    return problemOfJSON(JSON.parse(text) as Written, status);
  } catch {
    return new Problem(status, `HTTP_${status}`, text.slice(0, 300) || 'The server gave no reason.');
  }
}

export const get = <T>(path: string, signal?: AbortSignal) => send<T>({ method: 'GET', path }, signal);

// query returns ?a=b for the values that are set.
export function query(values: Record<string, string | number | boolean | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '' && value !== false) params.set(name, String(value));
  }
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

// segment encodes one part of a path. It keeps colons.
export const segment = (text: string) => encodeURIComponent(text).replaceAll('%3A', ':');

// curl returns the request as a shell line. If callers log in, it contains a placeholder for the API key.
export function curl(request: Request, auth = 'none'): string {
  const key = auth === 'none' ? '' : auth === 'certificate' ? ' --cert "$CERT" --key "$CERT_KEY"' : ' -H "Authorization: Bearer $KEY"';
  const url = new URL(base + request.path, document.baseURI).href;
  if (request.method === 'GET') return `curl -sS${key} ${quote(url)}`;
  const body = JSON.stringify(request.body ?? {});
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) => ` -H ${quote(`${name}: ${value}`)}`);
  return `curl -sS${key} -X ${request.method} -H 'Content-Type: application/json'${headers.join('')} -d ${quote(body)} ${quote(url)}`;
}

// quote quotes a text as one word of a shell.
export const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
