// The keys of a timeline's colors.
const words: Record<string, string> = { done: 'completed', failed: 'failed', running: 'runs', waiting: 'waits', plan: 'due', forecast: 'forecast or window closed', skipped: 'skipped', held: 'held', person: 'waits for a person' };

export const Legend = ({ of }: { of: (string | [string, string])[] }) => (
  <span class="tl-legend">
    {of.map((one) => {
      const [role, word] = typeof one === 'string' ? [one, words[one]] : one;
      return (
        <span key={role}>
          <i class={`tl-bar ${role}`} />
          {word}
        </span>
      );
    })}
  </span>
);
