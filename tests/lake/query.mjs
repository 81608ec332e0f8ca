// Runs each statement that is an argument in DuckDB, and prints the rows of each as a line of JSON.
import { createRequire } from "node:module";

const { DuckDBInstance } = createRequire(process.cwd() + "/")("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
for (const statement of process.argv.slice(2)) {
    const reader = await connection.runAndReadAll(statement);
    console.log(JSON.stringify(reader.getRowObjectsJson()));
}
