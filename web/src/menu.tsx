// A menu closes with Esc, and with the focus or a press elsewhere.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export function Menu({ look, name, sign, title, onOpen, children }: { look: string; name: string; sign?: string; title?: string; onOpen?: (open: boolean) => void; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!open) return;
    const close = (event: Event) => {
      if (event instanceof KeyboardEvent ? event.key !== 'Escape' : menu.current?.contains(event.target as Node)) return;
      if (!menu.current) return;
      menu.current.open = false;
      if (event.type === 'keydown') menu.current.querySelector('summary')?.focus();
    };
    const events = ['pointerdown', 'keydown', 'focusin'];
    for (const event of events) addEventListener(event, close);
    return () => {
      for (const event of events) removeEventListener(event, close);
    };
  }, [open]);
  return (
    <details
      class={look}
      ref={menu}
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
        onOpen?.(event.currentTarget.open);
      }}
    >
      <summary class={sign} title={title}>
        {name}
      </summary>
      <div tabIndex={-1}>{children}</div>
    </details>
  );
}
