// Colors of roles on a canvas, from the tokens of the theme.
import { useEffect, useState } from 'preact/hooks';
import { cells } from '../design/paints';
import { isFailed, type Role } from '../design/state';

// loud roles are drawn last, never smaller than four pixels, with a halo.
export const loud = (role: Role | undefined) => isFailed(role) || role === 'person';

export const colorOf = (styles: CSSStyleDeclaration, role: Role | undefined): string => styles.getPropertyValue(cells[role ?? 'unknown'] ?? cells.unknown).trim();

// useTheme changes with the colors of the page.
export function useTheme(): number {
  const [theme, set] = useState(0);
  useEffect(() => {
    const changed = () => set((n) => n + 1);
    const themed = new MutationObserver(changed);
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', changed);
    return () => {
      themed.disconnect();
      dark.removeEventListener('change', changed);
    };
  }, []);
  return theme;
}
