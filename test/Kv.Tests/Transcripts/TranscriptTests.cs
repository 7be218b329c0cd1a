using Kv.Tests.Harness;

namespace Kv.Tests.Transcripts;

/// <summary>
/// Every command's conversation, against Kv (or the server of KV_TEST_SERVER) and against the reference, so that
/// what we expect of ourselves is what the reference does.
/// </summary>
public class TranscriptTests
{
    public static TheoryData<string, string, int> All()
    {
        var all = new TheoryData<string, string, int>();
        foreach (var (file, title) in TranscriptFile.All())
            for (int resp = 2; resp <= 3; resp++)
                all.Add(file, title, resp);
        return all;
    }

    [Theory]
    [MemberData(nameof(All))]
    public void Kv_answers(string file, string title, int resp)
    {
        using var borrowed = SharedServers.Kv();
        Transcript.Run(borrowed.Server, TranscriptFile.Text(file, title), resp);
    }

    [Theory]
    [MemberData(nameof(All))]
    public void The_reference_answers(string file, string title, int resp)
    {
        using var borrowed = SharedServers.Redis();
        Transcript.Run(borrowed.Server, TranscriptFile.Text(file, title), resp);
    }
}
