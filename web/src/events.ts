// eventsOf returns a function that takes the chunks of an event stream and returns the events that have ended. A chunk
// may end anywhere, also between the two line feeds after an event.
export function eventsOf(): (chunk: string) => string[] {
  let rest = '';
  return (chunk) => {
    const texts = (rest + chunk).split('\n\n');
    rest = texts.pop() ?? '';
    return texts;
  };
}
