// Tabs by the WAI-ARIA pattern: one stop of the Tab key, arrows between them. panel is the id of their tab panel.
import type { ComponentChildren } from 'preact';

export function Tabs<T extends string>({
  look,
  label,
  panel,
  of,
  on,
  set,
  show = (one) => one,
}: {
  look: string;
  label: string;
  panel: string;
  of: readonly T[];
  on: T;
  set: (one: T) => void;
  show?: (one: T) => ComponentChildren;
}) {
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = of.indexOf(on);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1 + of.length, Home: 0, End: of.length - 1 }[event.key];
    const one = next === undefined ? undefined : of[next % of.length];
    if (one === undefined) return;
    event.preventDefault();
    set(one);
    ((event.currentTarget as HTMLElement).children[of.indexOf(one)] as HTMLElement).focus();
  };
  return (
    <div class={look} role="tablist" aria-label={label} onKeyDown={press}>
      {of.map((one) => (
        <button key={one} type="button" role="tab" aria-selected={one === on} aria-controls={panel} tabIndex={one === on ? 0 : -1} onClick={() => set(one)}>
          {show(one)}
        </button>
      ))}
    </div>
  );
}
