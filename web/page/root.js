// root is the URL of what segd serves at /path, wherever a proxy has it: these modules are at /assets.
export const root = (path) => new URL(`../${path}`, import.meta.url);
