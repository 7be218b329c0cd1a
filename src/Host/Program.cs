using System.Collections;
using Kv.Host;
using Kv.Server;
using Kv.Server.Configuration;
using Kv.Server.Network;

if (DescriptorLimit.WhyNotStart() is { } reason)
{
    Console.Error.WriteLine(reason);
    return 1;
}

var environment = new Dictionary<string, string>();
foreach (DictionaryEntry variable in Environment.GetEnvironmentVariables())
    environment[(string)variable.Key] = (string?)variable.Value ?? "";
if (args.Contains("--check"))
{
    var check = OptionCheck.Run(args, environment, Console.OpenStandardInput, KvServer.WhyNotStart);
    Console.Out.Write(check.Report);
    Console.Error.Write(check.Errors);
    return check.IsGood ? 0 : 1;
}

var health = HealthProbe.OptionsOf(args, out string? host, out bool mustBeReady);
var parsed = OptionParser.Parse((IReadOnlyList<string>?)health ?? args, environment, Console.OpenStandardInput);
if (parsed.Output != null) Console.Out.Write(parsed.Output);
if (parsed.Error != null) Console.Error.WriteLine(parsed.Error);
if (!parsed.IsOk) return parsed.Error == null ? 0 : 1;
if (health != null) return new HealthProbe(parsed.Options!, host, mustBeReady).Run();
HeapLimits.Set();
return new ServerProgram(parsed).RunAsync().GetAwaiter().GetResult();
