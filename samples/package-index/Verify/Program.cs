// Reads a file of SET commands and asks a server, through StackExchange.Redis, for the value of each key.
// Arguments: file host port. Exit code 1 when a value came back different.

using System.Text;
using StackExchange.Redis;

var pairs = ReadSets(args[0]);
using var connection = ConnectionMultiplexer.Connect($"{args[1]}:{args[2]},syncTimeout=30000");
var database = connection.GetDatabase();
const int InFlight = 500;
foreach (var part in pairs.Chunk(InFlight))
{
    var values = await Task.WhenAll(part.Select(pair => database.StringGetAsync(pair.Key)));
    for (int i = 0; i < part.Length; i++)
    {
        if (((byte[]?)values[i]).AsSpan().SequenceEqual(part[i].Value)) continue;
        Console.Error.WriteLine($"StackExchange.Redis: {Encoding.UTF8.GetString(part[i].Key)} came back different");
        return 1;
    }
}

// Behind an await the client's own thread is here; Dispose would wait on it for the answer to QUIT, until syncTimeout.
await Task.Yield();
Console.WriteLine($"StackExchange.Redis: {pairs.Count} records are equal");
return 0;

static List<(byte[] Key, byte[] Value)> ReadSets(string path)
{
    byte[] file = File.ReadAllBytes(path);
    var sets = new List<(byte[], byte[])>();
    int at = 0;
    while (at < file.Length)
    {
        Line(file, ref at);
        Bulk(file, ref at);
        sets.Add((Bulk(file, ref at), Bulk(file, ref at)));
    }

    return sets;
}

static byte[] Bulk(byte[] file, ref int at)
{
    int length = int.Parse(Line(file, ref at)[1..]);
    byte[] bulk = file.AsSpan(at, length).ToArray();
    at += length + 2;
    return bulk;
}

static string Line(byte[] file, ref int at)
{
    int end = Array.IndexOf(file, (byte)'\n', at);
    string line = Encoding.ASCII.GetString(file, at, end - 1 - at);
    at = end + 1;
    return line;
}
