namespace RespBenchmark.RedisBenchmark;

/// <summary>A test to run: its name in the text, what it sends, and the payload the text speaks of.</summary>
internal sealed record PlannedTest(string Title, Workload.Workload Workload, int PayloadBytes);
