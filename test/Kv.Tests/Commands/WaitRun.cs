using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>One who waits, and what others do meanwhile.</summary>
internal static class WaitRun
{
    /// <summary>Checks on a server of its own what the one who waits is answered, in RESP2 and in RESP3, and that
    /// nothing of the wait is left.</summary>
    /// <param name="before">Lines that are sent first.</param>
    /// <param name="wait">The command that waits.</param>
    /// <param name="commands">Lines that another client sends then.</param>
    /// <param name="reply">What is answered, as transcripts have it.</param>
    /// <param name="reply2">The same in RESP2, where that is not the other one's form.</param>
    internal static void Check(string before, string wait, string commands, string reply, string reply2 = "")
    {
        foreach (int resp in new[] { 2, 3 })
        {
            using var server = KvInstance.Start("--worker-threads", "2");
            using var other = server.Connect();
            other.Say(before);
            using var waiting = server.Connect(resp);
            server.Block(waiting, wait);
            other.Say(commands);
            var got = waiting.Read();
            string expected = resp == 2 && reply2.Length > 0 ? reply2 : reply;
            Assert.True(ReplyPattern.Parse(expected).Matches(got, resp), $"{commands}: {got}");
            Assert.Equal(0, server.Server.Blocked.Count);
            server.Server.Store.CheckIntegrity();
        }
    }
}
