using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Runs a command in one turn of its worker, which is what EXEC does with any: what works in steps otherwise
/// must answer the same.</summary>
internal static class OneTurn
{
    public static Reply OkInOneTurn(this RespClient client, string line)
    {
        client.Ok("MULTI");
        client.Ok(line);
        return client.Ok("EXEC").Items!.Single();
    }
}
