// Letters that cannot be seen, or that turn the direction of writing, are shown as U+202E in a label, wherever a text
// of somebody else is shown: a name must not look like another one.
import { type ComponentChild, Fragment, h, options, type VNode } from 'preact';

// Besides controls and marks of direction they are separators of lines, fillers of Hangul, and tags.
const hidden = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0\u{e0000}-\u{e007f}]/u;
const split = new RegExp(`(${hidden.source})`, 'u');
const name = (letter: string) => `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

// plain writes a text with names for hidden letters, where no element can stand.
export const plain = (text: string): string => text.replace(new RegExp(hidden, 'gu'), (letter) => `⟨${name(letter)}⟩`);

const bare = new Set(['option', 'title', 'text', 'tspan', 'textarea', 'style', 'script']);

function marked(child: ComponentChild, within: string): ComponentChild {
  if (typeof child !== 'string' || !hidden.test(child)) return child;
  if (bare.has(within)) return plain(child);
  return child.split(split).map((part, i) => (i % 2 === 1 ? h('span', { class: 'unseen' }, name(part)) : part)) as unknown as ComponentChild;
}

// mark looks at the texts of every element before it is rendered.
export function mark() {
  const next = options.vnode;
  options.vnode = (vnode: VNode) => {
    const { type } = vnode;
    if (typeof type === 'string' || type === Fragment) {
      const props = vnode.props as { children?: ComponentChild | ComponentChild[]; title?: unknown };
      const within = typeof type === 'string' ? type : '';
      if (Array.isArray(props.children)) {
        if (props.children.some((child) => typeof child === 'string' && hidden.test(child))) props.children = props.children.map((child) => marked(child, within));
      } else if (typeof props.children === 'string') props.children = marked(props.children, within);
      if (typeof props.title === 'string' && hidden.test(props.title)) props.title = plain(props.title);
    }
    next?.(vnode);
  };
}
