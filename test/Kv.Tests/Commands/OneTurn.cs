using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Runs a command in one turn of its worker, which is what EXEC does with any beside one that is about the
/// session: what works in steps otherwise must answer the same.</summary>
internal static class OneTurn
{
    public static Reply OkInOneTurn(this RespClient client, string line)
    {
        client.Ok("MULTI");
        client.Ok(line);
        client.Ok("CLIENT ID");
        return client.Ok("EXEC").Items![0];
    }
}
