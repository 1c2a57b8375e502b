// Heard announces what happens on any page: a new row of *Needs a person*, and the return of the connection. The banner
// announces its loss.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useConnection } from './connection';
import { useGet } from './data';
import { itemName } from './names';
import { localized } from './time';
import type { Needs } from './types';
import { Aloud } from './ui';

type Need = NonNullable<Needs['needs']>[number];

const idOf = (need: Need) => [need.code, need.name, need.of, need.object].join(' ');

const textOf = ({ run, name, detail }: Need) => `${run ? itemName(run.run, run.item) : name}: ${localized(detail)}`;

export function Heard() {
  const needs = useGet<Needs>('/needs').data?.needs;
  const { lost } = useConnection();
  // The same text twice is announced twice, by another element.
  const [said, setSaid] = useState({ text: '', n: 0 });
  const say = (text: string) => setSaid(({ n }) => ({ text, n: n + 1 }));
  const known = useRef<Set<string> | undefined>(undefined);
  useEffect(() => {
    const before = known.current;
    known.current = needs && new Set(needs.map(idOf));
    const fresh = before ? (needs ?? []).filter((need) => !before.has(idOf(need))) : [];
    if (fresh.length > 0) say(`Needs a person: ${fresh.map(textOf).join('; ')}`);
  }, [needs]);
  const was = useRef(lost);
  useEffect(() => {
    if (was.current && !lost) say('The connection is back. The page is live.');
    was.current = lost;
  }, [lost]);
  return (
    <Aloud>
      <span key={said.n}>{said.text}</span>
    </Aloud>
  );
}
