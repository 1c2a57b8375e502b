// An editor for YAML: CodeMirror in a shadow root, so that its styles need no exception in the page's policy.
import { autocompletion, type CompletionContext, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Schema } from '../types';
import { at, offers } from './schema';
import './editor.css';

export interface EditorFault {
  line?: number | undefined;
  column?: number | undefined;
  message: string;
  warning?: boolean | undefined;
}

export interface EditorProps {
  label: string;
  value: string;
  set: (value: string) => void;
  faults?: EditorFault[];
  schema?: Schema | undefined;
  // document identifies a text: each has its own history of changes.
  document?: string;
  describedBy?: string;
}

const theme = EditorView.theme({
  '&': { font: 'var(--t-code)', color: 'var(--ink)', backgroundColor: 'var(--surface)', height: '100%' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { font: 'var(--t-code)', fontVariantLigatures: 'none', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--ink-3)', border: 'none', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--hover) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--selected)' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--ink)', border: '1px solid var(--line-2)', borderRadius: 'var(--r-2)', boxShadow: 'var(--e-2)', font: 'var(--t-small)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { font: 'var(--t-code)', maxHeight: '16em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--selected)', color: 'var(--ink)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
  '.cm-completionDetail': { color: 'var(--ink-3)', fontStyle: 'normal' },
  '.cm-completionIcon': { display: 'none' },
  '.cm-tooltip.cm-completionInfo': { maxWidth: '22rem', padding: '6px 8px' },
  '.cm-diagnostic': { padding: '4px 8px', borderLeft: '3px solid var(--failed)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--person)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--failed)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--person)' },
  '.cm-lint-marker': { width: '9px', height: '9px' },
  '.cm-lint-marker-error': { content: 'none', backgroundColor: 'var(--failed)', borderRadius: '2px' },
  '.cm-lint-marker-warning': { content: 'none', backgroundColor: 'var(--person)', borderRadius: '9px' },
  '.cm-gutter-lint': { width: '14px' },
});

const colors = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--ink-3)' },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--link)' },
  { tag: [tags.string, tags.content], color: 'var(--ink)' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--ink-3)' },
]);

// Text typed over a selection goes through a transaction. Without it Chrome keeps the color of the replaced
// text as an inline style, which the page's policy blocks and reports.
const over = (view: EditorView, text: string) => {
  const { from, to } = view.state.selection.main;
  const insert = () => view.state.update({ ...view.state.replaceSelection(text), userEvent: 'input.type', scrollIntoView: true });
  if (!view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, text, insert))) view.dispatch(insert());
};
const typed = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== 'insertText' || event.data === null || event.isComposing || view.state.selection.main.empty) return false;
    event.preventDefault();
    over(view, event.data);
    return true;
  },
  compositionstart(_, view) {
    if (!view.state.selection.main.empty) view.dispatch({ ...view.state.replaceSelection(''), userEvent: 'delete.selection' });
    return false;
  },
});

export function Editor({ label, value, set, faults = [], schema, document = '', describedBy }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const now = useRef({ set, schema });
  now.current = { set, schema };
  const states = useRef(new Map<string, EditorState>());
  // sent are the texts that the page has received and not shown yet: fast typing is ahead of the page.
  const sent = useRef<string[]>([]);
  const attributes = useRef(new Compartment());
  const shown = useRef(document);
  const fresh = useRef<(doc: string) => EditorState>(undefined);

  // Set before the next key, because the key belongs to the shown document.
  useLayoutEffect(() => {
    const root = host.current?.shadowRoot ?? host.current?.attachShadow({ mode: 'open' });
    if (!root) return;
    const complete = (context: CompletionContext) => {
      const of = now.current.schema;
      if (!of) return null;
      const place = at(context.state.sliceDoc(0, context.pos));
      if (!context.explicit && place.word === '' && place.key === undefined) return null;
      const options = offers(of, place).map((offer) => ({ label: offer.label, apply: offer.apply, ...(offer.detail ? { detail: offer.detail } : {}), ...(offer.info ? { info: offer.info } : {}) }));
      return options.length > 0 ? { from: context.pos - place.word.length, options, validFor: /^[\w.-]*$/ } : null;
    };
    const told = (text: string) => {
      sent.current.push(text);
      now.current.set(text);
    };
    fresh.current = (doc) =>
      EditorState.create({
        doc,
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          closeBrackets(),
          highlightActiveLine(),
          indentUnit.of('  '),
          yaml(),
          syntaxHighlighting(colors),
          autocompletion({ override: [complete], icons: false }),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
          theme,
          typed,
          attributes.current.of(EditorView.contentAttributes.of({ tabindex: '0', 'aria-label': label, ...(describedBy ? { 'aria-description': describedBy } : {}) })),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((one) => one.isUserEvent('from.page'))) told(update.state.doc.toString());
          }),
        ],
      });
    const made = new EditorView({ root, parent: root, state: fresh.current(value) });
    view.current = made;
    return () => made.destroy();
  }, []);

  useLayoutEffect(() => {
    const editor = view.current;
    if (!editor) return;
    if (shown.current !== document) {
      states.current.set(shown.current, editor.state);
      shown.current = document;
      sent.current = [];
      const before = states.current.get(document);
      const next = before?.doc.toString() === value ? before : fresh.current?.(value);
      if (next) editor.setState(next);
    }
    const own = sent.current.indexOf(value);
    sent.current.splice(0, own + 1);
    if (own >= 0 || editor.state.doc.toString() === value) return;
    sent.current = [];
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value }, userEvent: 'from.page' });
  }, [value, document]);

  const wrong = faults.some((one) => !one.warning);
  useEffect(() => {
    view.current?.dispatch({ effects: attributes.current.reconfigure(EditorView.contentAttributes.of({ tabindex: '0', 'aria-label': label, 'aria-invalid': String(wrong), ...(describedBy ? { 'aria-description': describedBy } : {}) })) });
  }, [label, wrong, describedBy, document]);

  const known = JSON.stringify(faults);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { doc } = editor.state;
    const found = faults.map(({ line, column, message, warning }): Diagnostic => {
      const of = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
      const from = Math.min(of.from + Math.max((column ?? 1) - 1, 0), of.to);
      return { from, to: of.to, severity: warning ? 'warning' : 'error', message };
    });
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [known, value, document]);

  // Letters are typed here, and open no page.
  const own = (event: KeyboardEvent) => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
  };
  return <div class="editor" ref={host} onKeyDown={own} />;
}
