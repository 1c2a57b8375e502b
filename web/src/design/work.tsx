// A row of work has the fault, its cause, and the remedy next to it.
import type { ComponentChildren } from 'preact';
import { looks, type Role } from './state';

export interface Task {
  id: string;
  role: Role;
  what: ComponentChildren;
  code?: string | undefined;
  why?: ComponentChildren;
  look?: string;
  age?: ComponentChildren;
  acts?: ComponentChildren;
}

export const Work = ({ rows, fold }: { rows: Task[]; fold?: ComponentChildren }) => (
  <ul class="work">
    {rows.map((row) => (
      <li key={row.id}>
        <span class={`state ${looks(row.role)}`} />
        <div>
          <span class="what">
            {row.what}
            {row.code && <span class="code">{row.code}</span>}
          </span>
          {row.why && <p class={`why ${row.look ?? ''}`}>{row.why}</p>}
        </div>
        <span class="age">{row.age}</span>
        <div class="acts actions">{row.acts}</div>
      </li>
    ))}
    {fold && <li class="fold">{fold}</li>}
  </ul>
);
