// Names in a cell: cut in the middle, since their ends differ.

// Middle never cuts the last letters, nor a short text.
export function Middle({ of, look = 'middle', last = 14, whole = last * 2, title = of }: { of: string; look?: string; last?: number; whole?: number; title?: string }) {
  const letters = [...of];
  const at = letters.length <= whole ? 0 : letters.length - last;
  if (at === 0 && look === 'middle') return <>{of}</>;
  return (
    <span class={look} title={title}>
      <span>{letters.slice(0, at).join('')}</span>
      <span class="end">{letters.slice(at).join('')}</span>
    </span>
  );
}

// Whole is a text that is cut at its end; its tooltip has all of it.
export const Whole = ({ of }: { of: string }) => (of === '' ? null : <span title={of}>{of}</span>);
