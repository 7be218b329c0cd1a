using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>Commands that change a long string in steps: what they answer and leave is what one turn would, whoever
/// comes between.</summary>
public sealed class LongStringStepTests
{
    [Theory]
    [InlineData("APPEND k tail")]
    [InlineData("APPEND k ")]
    [InlineData("SETRANGE k 17 middle")]
    [InlineData("SETRANGE k 5499990 overlapping-the-end")]
    [InlineData("SETRANGE k 8000000 far")]
    [InlineData("SETBIT k 12345 1")]
    [InlineData("SETBIT k 64000000 1")]
    public void A_large_string_that_is_shared_is_moved_in_steps_before_it_is_changed(string line)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        if (line.StartsWith("APPEND k ", StringComparison.Ordinal) && line.Length == 9)
            line += new string('y', 3 << 20);
        foreach (string interference in (string[])["PING", "GETRANGE k 0 10", "APPEND k between", "DEL k",
            "SET k short", "RENAME k moved", "SWAPDB 0 5"])
        {
            LongValues.Fill(client, "random");
            client.Run("PEXPIREAT k 99999999999999");
            client.Run("COPY k copy");
            string before = LongValues.Left(client, "k");
            // What comes between is done before the command: so is this.
            client.Run("COPY k k DB 1");
            client.Run("SELECT 1");
            client.Run(interference.Replace("SWAPDB 0 5", "DEL k", StringComparison.Ordinal));
            client.Run("MULTI");
            client.Run(line);
            string expected = client.Run("EXEC"), left = LongValues.Left(client, "k");
            client.Run("SELECT 0");
            bool isDone = false;
            client.Between = step =>
            {
                if (step == 3 && !isDone) other.Run(interference);
                isDone |= step == 3;
            };
            string answer = client.Run(line);
            client.Between = null;
            Assert.True(client.Steps >= 3, $"{interference}: {client.Steps} steps");
            Assert.True(expected == "*1\r\n" + answer, $"{interference}: {answer} is not {expected}");
            Assert.True(left == LongValues.Left(client, "k"), $"{interference}: something else is left");
            if (interference != "SWAPDB 0 5")
                Assert.True(before == LongValues.Left(client, "copy"), "the copy has changed");
            client.Run("SWAPDB 0 5");
            client.Run("SWAPDB 0 5");
            instance.Server.Store.CheckIntegrity();
        }
    }
}
