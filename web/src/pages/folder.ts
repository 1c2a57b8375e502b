// Reads a folder that was chosen or dropped: the configuration and the files that it names.

export interface Folder {
  document?: string;
  // name of the file that is the configuration.
  name?: string;
  files: Record<string, string>;
}

interface Named {
  path: string;
  file: File;
}

// biggest is the size of a file beyond which it is no configuration.
const biggest = 1 << 20;
const text = /\.(ya?ml|txt|json)$/i;
const configurations = ['roundsman.yaml', 'roundsman.yml'];

// chosen lists the files of an input.
export const chosen = (files: FileList): Named[] => [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

// dropped lists the files of a drop, folders with all below them.
export async function dropped(transfer: DataTransfer): Promise<Named[]> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return chosen(transfer.files);
  return (await Promise.all(entries.map((entry) => below(entry, '')))).flat();
}

async function below(entry: FileSystemEntry, folder: string): Promise<Named[]> {
  const path = `${folder}${entry.name}`;
  if (entry.isFile) {
    return new Promise((done, failed) => (entry as FileSystemFileEntry).file((file) => done([{ path, file }]), failed));
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: Named[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
    if (some.length === 0) return found;
    found.push(...(await Promise.all(some.map((one) => below(one, `${path}/`)))).flat());
  }
}

// read returns the texts. The paths begin below the folder of the configuration.
export async function read(all: Named[]): Promise<Folder> {
  const wanted = all.filter(({ path, file }) => text.test(path) && file.size <= biggest && !/(^|\/)(\.|node_modules\/)/.test(path));
  const texts = await Promise.all(wanted.map(async ({ path, file }) => [path, await file.text()] as [string, string]));
  const main =
    texts.find(([path]) => configurations.includes(path.split('/').at(-1) ?? '')) ??
    texts.filter(([, content]) => /^job_types:/m.test(content)).sort(([a], [b]) => a.split('/').length - b.split('/').length)[0];
  const root = main ? main[0].slice(0, main[0].lastIndexOf('/') + 1) : common(texts.map(([path]) => path));
  const files = Object.fromEntries(texts.filter((one) => one !== main && one[0].startsWith(root)).map(([path, content]) => [path.slice(root.length), content]));
  return { files, ...(main ? { document: main[1], name: main[0] } : {}) };
}

// common is the folder that all paths begin with.
function common(paths: string[]): string {
  const first = paths[0]?.split('/').slice(0, -1) ?? [];
  for (let n = first.length; n > 0; n--) {
    const root = `${first.slice(0, n).join('/')}/`;
    if (paths.every((path) => path.startsWith(root))) return root;
  }
  return '';
}
