// Names in a cell: cut in the middle, since their ends differ.

// kept is the number of characters at the end that are never cut.
const kept = 14;

export function Middle({ of }: { of: string }) {
  const letters = [...of];
  if (letters.length <= kept * 2) return <>{of}</>;
  return (
    <span class="middle" title={of}>
      <span>{letters.slice(0, -kept).join('')}</span>
      <span>{letters.slice(-kept).join('')}</span>
    </span>
  );
}

// Whole is a text that is cut at its end; its tooltip has all of it.
export const Whole = ({ of }: { of: string }) => (of === '' ? null : <span title={of}>{of}</span>);
