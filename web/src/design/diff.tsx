// Settings before and after, one line each.
import type { FieldChange } from '../types';
import './diff.css';

export const Diff = ({ of, label }: { of: FieldChange[]; label: string }) => (
  <div class="diff" role="region" aria-label={label} tabIndex={0}>
    {of.map((field) => (
      <div key={field.path} class="hunk">
        <div class="path">
          {field.path}
          {field.drift && <small>changed by hand</small>}
        </div>
        {field.before !== '' && (
          <div class="del">
            <span aria-label="before">−</span>
            <code>{field.before}</code>
          </div>
        )}
        {field.after !== '' && (
          <div class="add">
            <span aria-label="after">+</span>
            <code>{field.after}</code>
          </div>
        )}
      </div>
    ))}
  </div>
);
