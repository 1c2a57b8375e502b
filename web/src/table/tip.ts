// The full text of a cut cell, for the keyboard. The pointer has the browser's own tooltips.
let tip: HTMLElement | undefined;

export function hideTip() {
  tip?.remove();
  tip = undefined;
}

const cut = (cell: Element) => [cell, ...cell.querySelectorAll('*')].some((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0);

// showTip shows the texts of the cells of a row that do not fit, and their times in full.
export function showTip(row: HTMLElement | null | undefined) {
  hideTip();
  if (!row) return;
  const texts = [...row.querySelectorAll('[role=gridcell]')].flatMap((cell) => {
    const full = cell.querySelector('[title]')?.getAttribute('title') ?? cell.textContent ?? '';
    return cut(cell) || cell.querySelector('time, .run') ? [full] : [];
  });
  show(texts, row);
}

// tipOfRuns shows the id of a run while its link has the focus of the keyboard.
export function tipOfRuns() {
  addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && target.matches('a.run:focus-visible')) show([target.title], target);
  });
  addEventListener('focusout', ({ target }) => {
    if (target instanceof HTMLElement && target.matches('a.run')) hideTip();
  });
  addEventListener('hashchange', hideTip); // Its link is removed without a focusout.
  addEventListener('keydown', ({ key }) => key === 'Escape' && hideTip());
}

function show(texts: string[], of: HTMLElement) {
  hideTip();
  if (texts.length === 0) return;
  tip = document.createElement('div');
  tip.id = 'tip';
  tip.role = 'tooltip';
  for (const text of texts) {
    const line = document.createElement('p');
    line.textContent = text;
    tip.append(line);
  }
  (of.closest('dialog, main') ?? document.body).append(tip);
  const at = of.getBoundingClientRect();
  const above = at.bottom + tip.offsetHeight + 6 > innerHeight;
  tip.style.top = `${above ? at.top - tip.offsetHeight - 6 : at.bottom + 6}px`;
  tip.style.left = `${Math.max(at.right - tip.offsetWidth - 12, 8)}px`;
}
